/** A circuit breaker: a store that stops calling another store that keeps failing. */

import type { Group, Adjustment } from '../../domain/bucket/take';
import type { GroupOutcome, AdjustOutcome, Store, TakeOptions } from '../store/port/store';
import { StoreError, type StoreErrorReason } from '../store/port/store-error';
import { Circuit, type CircuitState } from './circuit';

/** Errors that do not indicate a failing store: too many calls at once, an impatient caller, or a host without processor time. */
const FAULTLESS: readonly StoreErrorReason[] = ['overload', 'caller_timeout', 'own_lag'];

/** Interval of trial calls, in milliseconds, to a store that answers quickly with errors, so that a trial delays nobody. */
const TRY_MS = 1_000;

export interface BreakerOptions {
  /** Consecutive failures that open it. */
  readonly failures: number;
  /** The failures count only within a window of this length, in milliseconds. */
  readonly windowMs: number;
  /** Time until an open breaker admits a trial call, in milliseconds. */
  readonly openMs: number;
  /** A monotonic clock, in milliseconds. */
  readonly nowMs: () => number;
  readonly onState: (state: CircuitState) => void;
}

/**
 * While open, every call fails at once with the reason `breaker`. After `openMs` one call is admitted as a trial: it
 * closes the breaker or opens it again, while all others still fail at once. If the last failure was an error that the store
 * answered, another trial is admitted every second. Calls that were shed, given up by their caller, or given up while this
 * process ran late do not count as failures, nor do redirects and groups that fail alone.
 */
export class BreakerStore implements Store {
  private readonly circuit: Circuit;
  /** Times of the consecutive failures; at most `failures`. */
  private failedAtMs: number[] = [];
  private failedBy: unknown;
  /** End of the last trial between errors; Infinity while one is running. */
  private triedMs = -Infinity;

  constructor(
    private readonly store: Store,
    private readonly options: BreakerOptions,
  ) {
    this.circuit = new Circuit(options);
  }

  take(groups: readonly Group[], options?: TakeOptions): Promise<readonly GroupOutcome[]> {
    if (this.circuit.isClosed) return this.watch(this.store.take(groups, options));
    return this.tryOrRefuse(() => this.store.take(groups, options));
  }

  adjust(adjustments: readonly Adjustment[], options?: TakeOptions): Promise<readonly AdjustOutcome[]> {
    if (this.circuit.isClosed) return this.watch(this.store.adjust(adjustments, options));
    return this.tryOrRefuse(() => this.store.adjust(adjustments, options));
  }

  /** The same breaker in front of another store on the same server. */
  beside(store: Store): Store {
    const guard = <Answer>(call: () => Promise<Answer>) => (this.circuit.isClosed ? this.watch(call()) : this.tryOrRefuse(call));
    return {
      take: (groups, options) => guard(() => store.take(groups, options)),
      adjust: (adjustments, options) => guard(() => store.adjust(adjustments, options)),
      close: () => store.close(),
    };
  }

  /** Closes the breaker, because the store has shown that it is available. */
  reset(): void {
    this.failedAtMs = [];
    this.circuit.close();
  }

  /** Whether the last failure was a timeout. */
  get isTooSlow(): boolean {
    return this.failedBy instanceof StoreError && this.failedBy.reason === 'timeout';
  }

  /** The last failure, for people. */
  get cause(): string {
    return this.failedBy instanceof Error ? this.failedBy.message : 'no cause known';
  }

  /**
   * Whether calls that must not fail may be sent. A store whose last failure was a timeout is trusted again after an
   * answer, a PING or a heartbeat, or after a while without calls.
   */
  get isTrusted(): boolean {
    if (!this.circuit.isClosed) return this.mayTry || (this.circuit.isHalfOpen && !this.isTooSlow);
    const failedAtMs = this.failedAtMs.at(-1);
    return failedAtMs === undefined || !this.isTooSlow || this.options.nowMs() - failedAtMs > this.options.windowMs;
  }

  close(): Promise<void> {
    this.circuit.shutDown();
    return this.store.close();
  }

  private tryOrRefuse<Answer>(call: () => Promise<Answer>): Promise<Answer> {
    if (this.mayTry) return this.try(call);
    return this.circuit.startTrial() ? this.watch(call()) : Promise.reject(notAsked());
  }

  /** Records the outcome of a call. Not async: every command passes here. */
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
    if (this.circuit.isHalfOpen) this.circuit.close();
  }

  private fail(error: unknown): void {
    this.countFailure(error);
    if (this.circuit.isHalfOpen) this.circuit.open();
  }

  /** Whether the last failure was an error that the store answered, and is long enough ago for a trial. */
  private get mayTry(): boolean {
    const { failedBy } = this;
    if (!(failedBy instanceof StoreError) || failedBy.reason !== 'script') return false;
    return this.options.nowMs() - Math.max(this.triedMs, this.failedAtMs.at(-1) ?? -Infinity) >= TRY_MS;
  }

  /** A failed trial leaves the breaker open, and does not extend that. */
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

  private countSuccess(): void {
    if (this.failedAtMs.length > 0) this.failedAtMs = [];
  }

  private countFailure(error: unknown): void {
    if (error instanceof StoreError && FAULTLESS.includes(error.reason)) return;
    this.failedBy = error;
    const { failures, windowMs, nowMs } = this.options;
    const now = nowMs();
    this.failedAtMs = [...this.failedAtMs.filter((atMs) => now - atMs <= windowMs), now].slice(-failures);
    if (this.failedAtMs.length >= failures && this.circuit.isClosed) this.circuit.open();
  }
}

/** The error of calls that an open breaker refuses. */
export function notAsked(): StoreError {
  return new StoreError('the store has failed too often and is not asked for a while', 'breaker', { mayHaveRun: false });
}

/** A node that redirects is available. */
function isRedirect(error: unknown): boolean {
  return error instanceof StoreError && error.reason === 'redirected';
}
