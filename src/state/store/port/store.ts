/** The store port: decides groups of takes, and keeps their buckets. */

import type { Group, GroupVerdict, OutsideWindows, Settlement } from '../../../domain/bucket/take';
import { UnavailableError } from '../../../lib/errors';

export interface TakeOptions {
  /** Time left until the caller's deadline, in milliseconds. */
  readonly timeoutMs?: number;
  /** Prefixes the command with ASKING, for a node of a Redis Cluster that is importing the slot. */
  readonly asking?: boolean;
  /** Follows the requests of this call that a trace samples; undefined: none is sampled. */
  readonly trace?: StoreTrace | undefined;
}

/** A command as one call saw it. Times are of the monotonic clock, in milliseconds. */
export interface TracedCommand {
  /** When the call was handed over. */
  readonly arrivedMs: number;
  readonly sentMs: number;
  readonly endedMs: number;
  /** Number of requests in the command, those of other calls included. */
  readonly groups: number;
  /** Why it failed; undefined: it was answered. */
  readonly failed: StoreErrorReason | undefined;
  /** The server that it was sent to; undefined: unknown. */
  readonly server: ServerName | undefined;
}

/** A server as traces name it. */
export interface ServerName {
  /** A host, an address, or the path of a socket. */
  readonly address: string;
  /** Absent for a socket. */
  readonly port?: number;
}

/** Follows sampled requests through the layers of a store. */
export interface StoreTrace {
  /** The trace of one of the groups; undefined: its request is not sampled. */
  of(group: Group): StoreTrace | undefined;
  /** Called for each command that was sent. */
  onCommand(groups: readonly Group[], command: TracedCommand): void;
  /** The failure mode decides the group. */
  onFallback(group: Group, reason: StoreErrorReason): void;
}

/** The options for one group of a call. */
export function optionsOfGroup(options: TakeOptions, group: Group): TakeOptions {
  if (options.trace === undefined) return options;
  const trace = options.trace.of(group);
  return options.timeoutMs === undefined ? { trace } : { timeoutMs: options.timeoutMs, trace };
}

/**
 * Decides whole groups. A store that adds something (a deadline, measurements, a fallback) wraps another store;
 * `src/state/resilience/wrap-redis.ts` shows the order of the layers.
 */
export interface Store {
  /**
   * Returns one outcome for each group, in their order; a group that cannot be decided fails alone.
   *
   * @throws StoreError if no group was decided, as far as is known
   */
  take(groups: readonly Group[], options?: TakeOptions): Promise<readonly GroupOutcome[]>;
  /**
   * Applies settlements in their order, without any decision; resolves to the hits applied by each. A charge stops at an
   * empty bucket. Hits are given back only as far as time has not already restored them: for a window that has
   * ended, none are.
   *
   * @throws StoreError if nothing was applied, as far as is known
   */
  settle(settlements: readonly Settlement[], options?: TakeOptions): Promise<readonly SettleOutcome[]>;
  /** Closes connections; calls in flight finish or fail. */
  close(): Promise<void>;
}

export type GroupOutcome = GroupVerdict | OutsideWindows | StoreError;

/** Hits applied, or `UNSETTLED`. */
export type SettleOutcome = number | StoreError;

/**
 * Why a store did not decide; each reason is a metric series, except `redirected`, which is not a failure but
 * a wrong node or a retry. `own_lag`: this process ran late, so the state of the store is unknown.
 */
export type StoreErrorReason =
  'timeout' | 'caller_timeout' | 'own_lag' | 'connection' | 'script' | 'overload' | 'redirected' | 'breaker' | 'other';

interface StoreErrorOptions extends ErrorOptions {
  readonly mayHaveRun?: boolean;
}

/** The store did not decide. Callers see the message, so it never contains a bucket key. */
export class StoreError extends UnavailableError {
  override readonly name = 'StoreError';
  /** False if the store certainly did not run the call, and charged nothing. */
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

/** One group cannot be decided, and was not charged, because the key of one of its buckets holds other data. Other groups are not affected. */
export class BucketError extends StoreError {
  override readonly name = 'StoreError';

  constructor(
    message: string,
    /** Candidates for the key, for the operator, never for callers. */
    readonly bucketKeys: readonly string[],
  ) {
    super(message, 'script', { mayHaveRun: false });
  }
}

/**
 * The store sent an invalid reply. Later replies on that connection may belong to other calls, so
 * the connection is closed; the store may have run the call.
 */
export class ReplyError extends StoreError {
  override readonly name = 'StoreError';

  constructor(
    /** Says what is wrong with the reply, for the operator. Never contains a key. */
    readonly fault: string,
  ) {
    super('the store returned an invalid reply', 'script');
  }
}

/** The waiting limit is reached: the call is shed, and no fallback decides it. */
export function overloadError(callsMax: number): StoreError {
  return new StoreError(`over ${callsMax} calls are waiting for Redis`, 'overload', { mayHaveRun: false });
}
