/** A decision: what Weir answers to one request, before any wire format. */

import type { Limit } from '../rule/limit';

export type Code = 'OK' | 'OVER_LIMIT';

/** The answer for one descriptor; a decision has one for each, in the order of the request. */
export interface DescriptorStatus {
  readonly code: Code;
  /** The limit that binds, as configured. Absent: nothing limits this descriptor. */
  readonly currentLimit?: Limit;
  /** Hits left under that limit; 0 if no limit applies, `UNLIMITED_REMAINING` if the rule says unlimited. */
  readonly limitRemaining: number;
  /** Time until the limit is reset, as each algorithm defines it, in microseconds. Present with `currentLimit`. */
  readonly durationUntilResetUs?: number;
  /** Whether the hits fit; unlike the code, also told of a shadow descriptor. Not on the wire. */
  readonly fits: boolean;
}

export interface Decision {
  readonly overallCode: Code;
  readonly statuses: readonly DescriptorStatus[];
  /** Decided without the store, which could not. */
  readonly fallback?: true;
  /** Denied by what the store had said before; which descriptors, their `fits` says. */
  readonly cached?: true;
}

/** What an unlimited rule shows as its remaining hits: all that the wire can say. */
export const UNLIMITED_REMAINING = 2 ** 32 - 1;
