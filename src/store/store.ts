/** The store port: whatever keeps buckets and decides groups of takes on them. */

import type { Group, GroupVerdict, OutsideWindows, Settlement } from '../bucket/take';
import { UnavailableError } from '../errors';

export interface TakeOptions {
  /** What is left of the caller's own deadline, in milliseconds. */
  readonly timeoutMs?: number;
  /** Said to a node of a Redis Cluster that a slot is being moved to: it answers for it before it has it. */
  readonly asking?: boolean;
}

/**
 * Decides whole groups. A store that adds something (a deadline, measurements, a fallback) wraps another store and is
 * one itself; `src/wrap-redis.ts` shows which wraps which.
 */
export interface Store {
  /**
   * One outcome for each group, in their order; a group that can't be decided fails alone.
   *
   * @throws StoreError if no group was decided, as far as is known here
   */
  take(groups: readonly Group[], options?: TakeOptions): Promise<readonly GroupOutcome[]>;
  /**
   * Puts hits right in their order, without deciding anything; resolves to the hits applied of each. A charge stops at an
   * empty bucket. Hits given back come back as far as time has not brought them back, never more: of a window that has
   * ended, none.
   *
   * @throws StoreError if nothing was applied, as far as is known here
   */
  settle(settlements: readonly Settlement[], options?: TakeOptions): Promise<readonly SettleOutcome[]>;
  /** Lets go of connections; calls in flight end first, or fail. */
  close(): Promise<void>;
}

export type GroupOutcome = GroupVerdict | OutsideWindows | StoreError;

/** Hits applied, or `UNSETTLED`. */
export type SettleOutcome = number | StoreError;

/**
 * Why a store did not decide; metrics have one series for each, but for `redirected`: that is no failure, only the
 * wrong place to ask, or the wrong way.
 */
export type StoreErrorReason = 'timeout' | 'caller_timeout' | 'connection' | 'script' | 'overload' | 'redirected' | 'breaker' | 'other';

interface StoreErrorOptions extends ErrorOptions {
  readonly mayHaveRun?: boolean;
}

/** The store did not decide. Callers are told the message, so it never holds a bucket key. */
export class StoreError extends UnavailableError {
  override readonly name = 'StoreError';
  /** False: the store surely has not run the call, and has charged nothing. */
  readonly mayHaveRun: boolean;

  constructor(
    message: string,
    readonly reason: StoreErrorReason,
    { mayHaveRun = true, ...options }: StoreErrorOptions = {},
  ) {
    super(message, options);
    this.mayHaveRun = mayHaveRun;
  }
}

/** A group alone can't be decided, and nothing of it is done: what the store holds under the key of one of its buckets is none. Other groups are. */
export class BucketError extends StoreError {
  override readonly name = 'StoreError';

  constructor(
    message: string,
    /** For whoever runs the store, never for callers: it is one of these. */
    readonly bucketKeys: readonly string[],
  ) {
    super(message, 'script', { mayHaveRun: false });
  }
}

/** So many wait already: the call is shed, and nothing decides it in its place. */
export function overloadError(callsMax: number): StoreError {
  return new StoreError(`over ${callsMax} calls are waiting for Redis`, 'overload', { mayHaveRun: false });
}
