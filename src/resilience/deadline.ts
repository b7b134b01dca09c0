/** A store that answers in time: a call that Redis has not answered by its deadline fails. */

import type { Group, Settlement } from '../bucket/take';
import { asError } from '../errors';
import { StoreError, type GroupOutcome, type SettleOutcome, type Store, type TakeOptions } from '../store/store';

export interface DeadlineOptions {
  /** A clock that is never set, in milliseconds. */
  readonly nowMs: () => number;
  /** Longest a take may take, in milliseconds; a caller with less left gets less. Of a settlement, unless it is told otherwise. */
  readonly timeoutMs: number;
}

/** A caller that can wait for less than this part of the deadline shows nothing about the store by giving up. */
const ENOUGH = 0.5;

/** A call that waits for its answer. */
interface Waiting {
  readonly timeoutMs: number;
  readonly dueMs: number;
  readonly reject: (error: StoreError) => void;
  /** Among all that wait; undefined once it has its answer. */
  place: number | undefined;
}

/**
 * The call itself goes on: Redis may yet run it and charge. It is not sent again, since nobody knows whether it ran.
 *
 * One timer serves all calls: it is set for the first of them that is due, and looks for the next one when it fires. Most calls have
 * their answer by then, and cost no timer of their own.
 */
export class DeadlineStore implements Store {
  private readonly store: Store;
  private readonly timeoutMs: number;
  private readonly nowMs: () => number;
  /** In no order. */
  private readonly waiting: Waiting[] = [];
  private timer: NodeJS.Timeout | undefined;
  private timerMs = Infinity;

  constructor(store: Store, { timeoutMs, nowMs }: DeadlineOptions) {
    this.store = store;
    this.timeoutMs = timeoutMs;
    this.nowMs = nowMs;
  }

  take(groups: readonly Group[], options: TakeOptions = {}): Promise<readonly GroupOutcome[]> {
    return this.inTime(this.store.take(groups, options), Math.min(this.timeoutMs, options.timeoutMs ?? this.timeoutMs));
  }

  settle(settlements: readonly Settlement[], options: TakeOptions = {}): Promise<readonly SettleOutcome[]> {
    // No caller's answer waits for it: whoever settles may say how long it may take.
    return this.inTime(this.store.settle(settlements, options), options.timeoutMs ?? this.timeoutMs);
  }

  close(): Promise<void> {
    return this.store.close();
  }

  private inTime<Answer>(answering: Promise<Answer>, timeoutMs: number): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const nowMs = this.nowMs();
      const call: Waiting = { timeoutMs, dueMs: nowMs + timeoutMs, reject, place: this.waiting.length };
      this.waiting.push(call);
      this.wakeAt(call.dueMs, nowMs);
      answering.then(
        (answer) => {
          this.remove(call);
          resolve(answer);
        },
        (error: unknown) => {
          this.remove(call);
          reject(asError(error));
        },
      );
    });
  }

  /** The last one moves into its place. */
  private remove(call: Waiting): void {
    const { place } = call;
    if (place === undefined) return;
    call.place = undefined;
    const last = this.waiting.pop();
    if (last === undefined || last === call) return;
    this.waiting[place] = last;
    last.place = place;
  }

  private wakeAt(dueMs: number, nowMs: number): void {
    if (dueMs >= this.timerMs) return;
    clearTimeout(this.timer);
    this.timerMs = dueMs;
    // What a call waits for keeps the process alive, if anything does.
    this.timer = setTimeout(() => { this.wake(); }, Math.ceil(dueMs - nowMs)).unref();
  }

  private wake(): void {
    const nowMs = this.nowMs();
    const due = this.waiting.filter(({ dueMs }) => dueMs <= nowMs);
    // Timers run before input is read. After a pause of this process the answers may lie here unread, so what
    // has arrived is read first: an immediate runs after it.
    if (due.length > 0) setImmediate(() => { for (const call of due) if (call.place !== undefined) this.giveUp(call); });
    this.timerMs = Infinity;
    // A timer may fire a little early, by the clock of the event loop: then it is set once more.
    let nextMs = Infinity;
    for (const { dueMs } of this.waiting) if (dueMs > nowMs && dueMs < nextMs) nextMs = dueMs;
    this.wakeAt(nextMs, nowMs);
  }

  private giveUp(call: Waiting): void {
    this.remove(call);
    const reason = call.timeoutMs < ENOUGH * this.timeoutMs ? 'caller_timeout' : 'timeout';
    call.reject(new StoreError(`the store did not answer within ${call.timeoutMs} ms`, reason));
  }
}
