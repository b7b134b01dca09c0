/** Claims events of an outbox, sends them, and settles them: tries again with growing waits, and gives up in the end. */

import { backoffMs } from '../../lib/backoff';
import { cloudEvent } from './event-text';
import type { ClaimedEvent, Outbox, OutboxFacts, Settlement } from './outbox';

/** Events that are sent at the same time. */
const AT_ONCE = 16;

/** Interval between two claims, in milliseconds, if the last one found few events. */
const POLL_MS = 1_000;

/** A claim ends this long after the longest delivery, in milliseconds. */
const LEASE_MARGIN_MS = 10_000;

/** The waits between the tries of an event, in milliseconds. */
const FIRST_WAIT_MS = 1_000;
const WAIT_MAX_MS = 600_000;
const WAIT_FACTOR = 2;

/** The longest pause while no event can be delivered, in milliseconds. */
const PAUSE_MAX_MS = 30_000;

/** Settlements that the store has not acknowledged; of further ones the events are sent again. */
const UNSETTLED_MAX = 1_000;

/** An event that ended a process at every try is given up without another one this long after `retryForMs`, in milliseconds. */
const NEVER_TRIED_MS = 3_600_000;

/** Undefined: it was delivered. Otherwise why not. */
export type Send = (event: { readonly id: string; readonly body: string }) => Promise<string | undefined>;

export type Delivery = 'delivered' | 'failed' | 'undelivered';

export interface DelivererParts {
  readonly outbox: Outbox;
  readonly send: Send;
  /** The longest time of `send`. */
  readonly timeoutMs: number;
  /** Age from which on an event that fails is given up. */
  readonly retryForMs: number;
  /** `EVENTS_SOURCE`. */
  readonly source: string;
  readonly random: () => number;
  readonly onDelivery: (delivery: Delivery, reason?: string) => void;
  readonly onFacts: (facts: OutboxFacts) => void;
  /** Called with the number of events that the outbox lost in part. */
  readonly onGone: (events: number) => void;
  /** Called if the store failed. */
  readonly onError: (error: unknown) => void;
}

export class Deliverer {
  private unsettled: Settlement[] = [];
  private failures = 0;
  private timer: NodeJS.Timeout | undefined;
  private running: Promise<number> | undefined;
  private isStopped = false;

  constructor(private readonly parts: DelivererParts) {}

  start(): void {
    this.schedule(0);
  }

  /** Ends after the deliveries under way and one more round, for a bounded time. Others deliver what is left in Redis. */
  async stop({ waitMs }: { readonly waitMs: number }): Promise<void> {
    this.isStopped = true;
    clearTimeout(this.timer);
    const last = Promise.resolve(this.running).then(() => this.step());
    let waiting: NodeJS.Timeout | undefined;
    const waited = new Promise<void>((resolve) => {
      waiting = setTimeout(resolve, waitMs);
    });
    await Promise.race([last, waited]);
    clearTimeout(waiting);
  }

  /** One round: settles, claims, sends. Resolves to the wait before the next one, in milliseconds; never rejects. */
  async step(): Promise<number> {
    const { outbox, timeoutMs, onFacts, onGone, onError } = this.parts;
    try {
      await this.settle();
      const answer = await outbox.claim({ max: AT_ONCE, leaseMs: timeoutMs + LEASE_MARGIN_MS });
      onFacts(answer);
      if (answer.gone > 0) onGone(answer.gone);
      const { claimed, nowMs } = answer;
      if (claimed.length === 0) return POLL_MS;
      const settlements = await Promise.all(claimed.map((event) => this.deliver(event, nowMs)));
      this.unsettled.push(...settlements.slice(0, UNSETTLED_MAX - this.unsettled.length));
      await this.settle();
      return this.waitAfter(settlements);
    } catch (error) {
      onError(error);
      return POLL_MS;
    }
  }

  private async settle(): Promise<void> {
    const { unsettled } = this;
    if (unsettled.length === 0) return;
    await this.parts.outbox.settle(unsettled);
    this.unsettled = this.unsettled.slice(unsettled.length);
  }

  /** A receiver that takes nothing is asked less often, so that the tries of all events are not used up. */
  private waitAfter(settlements: readonly Settlement[]): number {
    const isWorking = settlements.some(({ ending }) => ending === 'delivered');
    this.failures = isWorking ? 0 : this.failures + 1;
    if (!isWorking) return backoffMs({ failures: this.failures - 1, firstMs: POLL_MS, maxMs: PAUSE_MAX_MS, factor: WAIT_FACTOR });
    return settlements.length < AT_ONCE ? POLL_MS : 0;
  }

  private async deliver({ number, id, text, tries, appendedMs }: ClaimedEvent, nowMs: number): Promise<Settlement> {
    const { send, source, retryForMs, random, onDelivery } = this.parts;
    const ageMs = nowMs - appendedMs;
    if (ageMs > retryForMs + NEVER_TRIED_MS) {
      onDelivery('undelivered', 'it is too old');
      return { number, ending: 'undelivered', waitMs: 0 };
    }
    const reason = await this.trySend({ id, body: () => cloudEvent({ id, text }, source) }, send);
    if (reason === undefined) {
      onDelivery('delivered');
      return { number, ending: 'delivered', waitMs: 0 };
    }
    onDelivery('failed', reason);
    const waitMs = backoffMs({ failures: tries - 1, firstMs: FIRST_WAIT_MS, maxMs: WAIT_MAX_MS, factor: WAIT_FACTOR, random });
    if (ageMs + waitMs <= retryForMs) return { number, ending: 'again', waitMs };
    onDelivery('undelivered', reason);
    return { number, ending: 'undelivered', waitMs: 0 };
  }

  private async trySend({ id, body }: { readonly id: string; readonly body: () => string }, send: Send): Promise<string | undefined> {
    try {
      return await send({ id, body: body() });
    } catch (error) {
      return error instanceof Error ? error.message : 'it could not be sent';
    }
  }

  private schedule(waitMs: number): void {
    if (this.isStopped) return;
    this.timer = setTimeout(() => {
      this.running = this.step();
      void this.running.then((nextMs) => {
        this.schedule(nextMs);
      });
    }, waitMs).unref();
  }
}
