/** A store that stops asking a store that keeps failing: a circuit breaker around it. */

import CircuitBreaker from 'opossum';
import type { Group, Settlement } from '../bucket/take';
import { StoreError, type GroupOutcome, type SettleOutcome, type Store, type StoreErrorReason, type TakeOptions } from '../store/store';

/** `gone`: nobody asks that store any more. */
export type BreakerState = 'closed' | 'open' | 'half_open' | 'gone';

/** What a call may fail of though the store is well: too many at once, or a caller that could not wait. */
const FAULTLESS: readonly StoreErrorReason[] = ['overload', 'caller_timeout'];

/** Of a store that answers, though with errors, no call waits for long: one may try so long after the last, in milliseconds. */
const TRY_MS = 1_000;

export interface BreakerOptions {
  /** Failures in a row that open it. */
  readonly failures: number;
  /** They count if the first of them is no older than this, in milliseconds. */
  readonly windowMs: number;
  /** How long it stays open before one call may try again, in milliseconds. */
  readonly openMs: number;
  /** A clock that is never set, in milliseconds. */
  readonly nowMs: () => number;
  readonly onState: (state: BreakerState) => void;
}

/**
 * While open, no call waits: each fails at once with the reason `breaker`. After `openMs` one call is let through: it
 * closes the breaker or opens it anew, and all others still fail at once. If the last failure was an error that the store has
 * answered, one is let through every second as well. A call refused for overload, or
 * given up by its caller, says nothing about the store, so it is no failure; nor is a group that fails alone, or a
 * redirect.
 *
 * While closed, the circuit is not asked: it lets every call through, and its own account of them would be some 4 % of what a
 * call costs that is alone. It is told what matters to it of calls that end when it is closed no more.
 */
export class BreakerStore implements Store {
  private readonly circuit: CircuitBreaker<[() => Promise<unknown>]>;
  /** When each of the failures in a row was; at most `failures`. */
  private failedAtMs: number[] = [];
  private failedBy: unknown;
  /** When the last call ended that was let through to try whether the errors are over; as long as one is under way, never. */
  private triedMs = -Infinity;

  constructor(
    private readonly store: Store,
    private readonly options: BreakerOptions,
  ) {
    this.circuit = new CircuitBreaker((call: () => Promise<unknown>) => call(), {
      // Deadlines are the deadline's; when to open is decided below, by failures in a row and not by a percentage.
      timeout: false,
      volumeThreshold: Number.MAX_SAFE_INTEGER,
      resetTimeout: options.openMs,
      errorFilter: isRedirect,
      // Statistics that nobody reads: one bucket, never rotated.
      rollingCountBuckets: 1,
      rollingPercentilesEnabled: false,
      enableSnapshots: false,
    });
    this.circuit.on('success', () => {
      this.countSuccess();
    });
    this.circuit.on('failure', (error) => {
      this.countFailure(error);
    });
    this.circuit.on('open', () => {
      options.onState('open');
    });
    this.circuit.on('halfOpen', () => {
      options.onState('half_open');
    });
    this.circuit.on('close', () => {
      options.onState('closed');
    });
  }

  take(groups: readonly Group[], options?: TakeOptions): Promise<readonly GroupOutcome[]> {
    if (this.circuit.closed) return this.watch(this.store.take(groups, options));
    if (this.mayTry) return this.try(() => this.store.take(groups, options));
    return this.fire(() => this.store.take(groups, options));
  }

  settle(settlements: readonly Settlement[], options?: TakeOptions): Promise<readonly SettleOutcome[]> {
    if (this.circuit.closed) return this.watch(this.store.settle(settlements, options));
    if (this.mayTry) return this.try(() => this.store.settle(settlements, options));
    return this.fire(() => this.store.settle(settlements, options));
  }

  /** The store has shown that it is there: it is asked again at once. */
  reset(): void {
    this.failedAtMs = [];
    if (!this.circuit.closed) this.circuit.close();
  }

  /** Whether the last failure was an answer that did not come in time. */
  get isTooSlow(): boolean {
    return this.failedBy instanceof StoreError && this.failedBy.reason === 'timeout';
  }

  /** What the last failure was, for people. */
  get cause(): string {
    return this.failedBy instanceof Error ? this.failedBy.message : 'no cause known';
  }

  /**
   * Whether nothing speaks against an answer: a call that must not be sent in vain may go. Of a store that was last too slow, an
   * answer, a PING or a heartbeat shows it, or a while without any call.
   */
  get isTrusted(): boolean {
    if (!this.circuit.closed) return this.mayTry || (this.circuit.halfOpen && !this.isTooSlow);
    const failedAtMs = this.failedAtMs.at(-1);
    return failedAtMs === undefined || !this.isTooSlow || this.options.nowMs() - failedAtMs > this.options.windowMs;
  }

  close(): Promise<void> {
    this.circuit.shutdown();
    this.options.onState('gone');
    return this.store.close();
  }

  /** What the circuit would do for a call that began while it was closed. Not async: every command comes through here. */
  private watch<Answer>(call: Promise<Answer>): Promise<Answer> {
    return call.then(
      (answer) => {
        this.succeed();
        return answer;
      },
      (error: unknown) => {
        if (isRedirect(error)) this.succeed();
        else this.fail(error);
        throw error;
      },
    );
  }

  private succeed(): void {
    this.countSuccess();
    if (this.circuit.halfOpen) this.circuit.close();
  }

  private fail(error: unknown): void {
    this.countFailure(error);
    if (this.circuit.halfOpen) this.circuit.open();
  }

  /** Whether the store has answered all along, and the last error is some time ago. */
  private get mayTry(): boolean {
    const { failedBy } = this;
    if (!(failedBy instanceof StoreError) || failedBy.reason !== 'script') return false;
    return this.options.nowMs() - Math.max(this.triedMs, this.failedAtMs.at(-1) ?? -Infinity) >= TRY_MS;
  }

  /** Past the circuit: should it fail, the breaker stays open as it is. */
  private async try<Answer>(call: () => Promise<Answer>): Promise<Answer> {
    this.triedMs = Infinity;
    try {
      const answer = await call();
      this.reset();
      return answer;
    } catch (error) {
      if (isRedirect(error)) this.reset();
      else this.fail(error);
      throw error;
    } finally {
      this.triedMs = this.options.nowMs();
    }
  }

  private async fire<Answer>(call: () => Promise<Answer>): Promise<Answer> {
    try {
      // The circuit resolves to what its call does.
      return (await this.circuit.fire(call)) as Answer;
    } catch (error) {
      if (!(error instanceof Error) || !CircuitBreaker.isOurError(error)) throw error;
      throw new StoreError('the store has failed too often and is not asked for a while', 'breaker', { cause: error, mayHaveRun: false });
    }
  }

  private countSuccess(): void {
    if (this.failedAtMs.length > 0) this.failedAtMs = [];
  }

  private countFailure(error: unknown): void {
    if (error instanceof StoreError && FAULTLESS.includes(error.reason)) return;
    this.failedBy = error;
    const { failures, windowMs, nowMs } = this.options;
    const now = nowMs();
    this.failedAtMs = [...this.failedAtMs.filter((atMs) => now - atMs <= windowMs), now].slice(-failures);
    if (this.failedAtMs.length >= failures && this.circuit.closed) this.circuit.open();
  }
}

/** A node that names another one is there. */
function isRedirect(error: unknown): boolean {
  return error instanceof StoreError && error.reason === 'redirected';
}
