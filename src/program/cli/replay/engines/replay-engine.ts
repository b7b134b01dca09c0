/** The port of what decides the requests of a replay under one configuration, and counts what it decided. */

import type { ChangedKeyInput } from '../figures/changed-keys';
import type { RuleFigures } from '../figures/rule-figures';
import type { LogEvent } from '../event/log-event';

export interface ReplayEngine {
  readonly rules: RuleFigures;
  /** Buckets that were evicted for lack of room: each may have admitted its limit once more. */
  readonly evictions: number;
  /** The part of all keys whose peaks are counted. */
  readonly sampled: number;
  /**
   * Decides a request that is not before an earlier one; returns whether it is denied.
   *
   * @throws BadRequestError for an invalid request
   */
  decide(event: LogEvent): boolean;
  /** Counts the last decision by rule. */
  count(timeUs: number): void;
  /** The key that denied the last request. */
  denial(): ChangedKeyInput;
  /** By limit with peaks of its own: those of its keys, in ascending order. */
  peaks(): readonly Float64Array[];
}
