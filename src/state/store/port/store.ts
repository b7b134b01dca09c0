/** The store port: decides groups of takes, and keeps their buckets. */

import type { Group, GroupVerdict, OutsideWindows, Adjustment } from '../../../domain/bucket/take';
import type { StoreError } from './store-error';
import type { StoreTrace } from './store-trace';

export interface TakeOptions {
  /** Time left until the caller's deadline, in milliseconds. */
  readonly timeoutMs?: number;
  /** Follows the requests of this call that a trace samples; undefined: none is sampled. */
  readonly trace?: StoreTrace | undefined;
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
   * Applies adjustments in their order, without any decision; resolves to the hits applied by each. A charge stops at an
   * empty bucket. Hits are given back only as far as time has not already restored them: for a window that has
   * ended, none are.
   *
   * @throws StoreError if nothing was applied, as far as is known
   */
  adjust(adjustments: readonly Adjustment[], options?: TakeOptions): Promise<readonly AdjustOutcome[]>;
  /** Closes connections; calls in flight finish or fail. */
  close(): Promise<void>;
}

export type GroupOutcome = GroupVerdict | OutsideWindows | StoreError;

/** Hits applied, or `NOT_ADJUSTED`. */
export type AdjustOutcome = number | StoreError;
