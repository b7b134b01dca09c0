/** A store with deadlines: calls that Redis does not answer in time fail. */

import type { Group, Adjustment } from '../../domain/bucket/take';
import { asError } from '../../lib/errors';
import { ANSWER_MS, lateError } from '../store/port/time-left';
import type { GroupOutcome, AdjustOutcome, Store, TakeOptions } from '../store/port/store';
import type { StoreError, StoreErrorReason } from '../store/port/store-error';

export interface DeadlineOptions {
  /** A monotonic clock, in milliseconds. */
  readonly nowMs: () => number;
  /** Deadline of a take, in milliseconds, or less if the caller has less time left; default deadline of an adjustment. */
  readonly timeoutMs: number;
  /** Recent lag of this process, in milliseconds. Default: none. */
  readonly lagMs?: () => number;
  /** Number of callers that currently wait for the store; a call may serve many. Default: 0. */
  readonly callersWaiting?: () => number;
}

/** This process runs late if the lag extends the deadline by this factor. */
const LATE = 2;

/** The timeout of a caller with less than this part of the deadline says nothing about the store. */
const ENOUGH = 0.5;

/** Redis, on an equally busy host, may add the same lag as this process: once to read the command, and once until the answer is read here. */
const LAGS = 2;

/** Longest wait of any call, in milliseconds, whatever the lag and the load. */
const PATIENCE_MS = 100;

/** Number of waiting callers from which the store is under load. */
const LOADED_CALLERS = 16;

/** A call without an answer yet. */
interface Waiting {
  readonly timeoutMs: number;
  readonly sentMs: number;
  /** Longest wait if this process runs late, or the store is under load. */
  readonly patienceMs: number;
  /** Whether the store was under load during the wait: the callers of the load may have given up since. */
  sawLoad: boolean;
  dueMs: number;
  readonly reject: (error: StoreError) => void;
  /** Index in the list of waiting calls; undefined once answered. */
  place: number | undefined;
}

/**
 * A call that times out may still run in Redis and charge. It is not sent again, because its outcome is unknown.
 *
 * One timer serves all calls: it is set for the earliest deadline and moves to the next one when it fires. Most calls are
 * answered by then, and need no timer of their own.
 *
 * On a host without processor time, answers are late although Redis is well. So the deadline is extended by twice the
 * lag of this process, up to the caller's own deadline. A store that answers nothing during the extended time is silent, and
 * calls get no extension until an answer arrives in time. Calls given up before that say nothing about the store.
 *
 * Redis under load may answer late because it shares its processor with the callers. Load must not admit more
 * hits, so a call then waits up to its caller's deadline, at most 100 ms. If the store stops answering while few callers wait,
 * the deadline is not extended.
 */
export class DeadlineStore implements Store {
  private readonly store: Store;
  private readonly timeoutMs: number;
  private readonly nowMs: () => number;
  private readonly lagMs: () => number;
  private readonly callersWaiting: () => number;
  /** Unordered. */
  private readonly waiting: Waiting[] = [];
  /** Time of the last answer in time, or of the first call after an idle time. */
  private answeredMs = 0;
  /** No answer has arrived since a call was given up. */
  private isSilent = false;
  private timer: NodeJS.Timeout | undefined;
  private timerMs = Infinity;

  constructor(store: Store, { timeoutMs, nowMs, lagMs = () => 0, callersWaiting = () => 0 }: DeadlineOptions) {
    this.store = store;
    this.timeoutMs = timeoutMs;
    this.nowMs = nowMs;
    this.lagMs = lagMs;
    this.callersWaiting = callersWaiting;
  }

  /** How long an answer may currently take, in milliseconds, to count as in time. */
  get allowedMs(): number {
    return Math.max(this.timeoutMs, Math.min(PATIENCE_MS, this.timeoutMs + LAGS * this.lagMs()));
  }

  /** How long a call may currently wait, in milliseconds, if its caller can. */
  get longestMs(): number {
    return this.longestOf({ sawLoad: this.isLoaded });
  }

  private longestOf({ sawLoad }: Pick<Waiting, 'sawLoad'>): number {
    return sawLoad ? Math.max(this.timeoutMs, PATIENCE_MS) : this.allowedMs;
  }

  private get isLoaded(): boolean {
    return this.callersWaiting() >= LOADED_CALLERS;
  }

  take(groups: readonly Group[], options?: TakeOptions): Promise<readonly GroupOutcome[]> {
    return this.takeIn(this.store, groups, options);
  }

  adjust(adjustments: readonly Adjustment[], options?: TakeOptions): Promise<readonly AdjustOutcome[]> {
    return this.adjustIn(this.store, adjustments, options);
  }

  /** The same deadlines, and lag, for another store on the same server. */
  beside(store: Store): Store {
    return {
      take: (groups, options) => this.takeIn(store, groups, options),
      adjust: (adjustments, options) => this.adjustIn(store, adjustments, options),
      close: () => store.close(),
    };
  }

  private takeIn(store: Store, groups: readonly Group[], options: TakeOptions = {}): Promise<readonly GroupOutcome[]> {
    const { timeoutMs = Infinity } = options;
    return this.inTime(store.take(groups, options), Math.min(this.timeoutMs, timeoutMs), Math.min(PATIENCE_MS, timeoutMs - ANSWER_MS));
  }

  private adjustIn(store: Store, adjustments: readonly Adjustment[], options: TakeOptions = {}): Promise<readonly AdjustOutcome[]> {
    // No caller waits for an adjustment, so its deadline may be longer than that of a take.
    return this.inTime(store.adjust(adjustments, options), options.timeoutMs ?? this.timeoutMs, PATIENCE_MS);
  }

  close(): Promise<void> {
    return this.store.close();
  }

  private inTime<Answer>(answering: Promise<Answer>, timeoutMs: number, patienceMs: number): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const nowMs = this.nowMs();
      if (this.waiting.length === 0 && !this.isSilent) this.answeredMs = nowMs;
      const call: Waiting = {
        timeoutMs,
        sentMs: nowMs,
        patienceMs,
        sawLoad: false,
        dueMs: nowMs + timeoutMs,
        reject,
        place: this.waiting.length,
      };
      this.waiting.push(call);
      this.wakeAt(call.dueMs, nowMs);
      answering.then(
        (answer) => {
          this.recordAnswer(call);
          this.remove(call);
          resolve(answer);
        },
        (error: unknown) => {
          this.recordAnswer(call);
          this.remove(call);
          reject(asError(error));
        },
      );
    });
  }

  /**
   * An answer, or an error of Redis, that is later than the lag explains shows a slow store and does not count. Under
   * load it counts if its caller still waits for it.
   */
  private recordAnswer({ sentMs, place, sawLoad }: Waiting): void {
    const nowMs = this.nowMs();
    const isInTime = nowMs - sentMs <= this.allowedMs || (sawLoad && place !== undefined);
    if (!isInTime) return;
    this.answeredMs = nowMs;
    this.isSilent = false;
  }

  /** Moves the last call into the free place. */
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
    // The socket keeps the process alive, not this timer.
    this.timer = setTimeout(
      () => {
        this.wake();
      },
      Math.ceil(dueMs - nowMs),
    ).unref();
  }

  private wake(): void {
    const nowMs = this.nowMs();
    const due = this.waiting.filter(({ dueMs }) => dueMs <= nowMs);
    // Timers run before input is read. After a pause of this process, answers may be unread in the socket, so they
    // are read first: an immediate runs after reading.
    if (due.length > 0)
      setImmediate(() => {
        for (const call of due) this.judge(call);
      });
    this.timerMs = Infinity;
    // By the clock of the event loop a timer may fire slightly early; then it is set again.
    let nextMs = Infinity;
    for (const { dueMs } of this.waiting) if (dueMs > nowMs && dueMs < nextMs) nextMs = dueMs;
    this.wakeAt(nextMs, nowMs);
  }

  /** Extends the deadline of a call if this process runs late or the store is under load; otherwise gives it up. */
  private judge(call: Waiting): void {
    if (call.place === undefined) return;
    call.sawLoad ||= this.isLoaded;
    const longestMs = this.longestOf(call);
    const nowMs = this.nowMs();
    const isAnswering = nowMs - this.answeredMs < longestMs;
    const untilMs = call.sentMs + Math.min(call.patienceMs, longestMs);
    if (isAnswering && longestMs > this.timeoutMs && untilMs > nowMs) {
      call.dueMs = Math.min(untilMs, nowMs + this.timeoutMs);
      this.wakeAt(call.dueMs, nowMs);
      return;
    }
    this.giveUp(call, this.reasonOf(call, { isAnswering }));
  }

  private reasonOf({ timeoutMs, patienceMs, sawLoad }: Waiting, { isAnswering }: { readonly isAnswering: boolean }): StoreErrorReason {
    if (timeoutMs < ENOUGH * this.timeoutMs) return 'caller_timeout';
    if (!isAnswering) return 'timeout';
    if (this.allowedMs >= LATE * this.timeoutMs) return 'own_lag';
    return sawLoad && patienceMs < PATIENCE_MS ? 'caller_timeout' : 'timeout';
  }

  private giveUp(call: Waiting, reason: StoreErrorReason): void {
    this.remove(call);
    this.isSilent = true;
    // Longer than its timeout if the deadline was extended.
    const waitedMs = Math.round(call.dueMs - call.sentMs);
    call.reject(lateError(waitedMs, reason, { mayHaveRun: true }));
  }
}
