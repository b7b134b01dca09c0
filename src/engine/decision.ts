/** A decision: what Weir answers to one request, before any wire format. */

import type { Limit } from '../rule/limit';
import type { JsonObject } from '../rule/rule';

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
  /** Its hits are more than the limit ever holds: no wait makes them fit. Absent: they fit, or will. Not on the wire. */
  readonly neverFits?: true;
  /** Hits that the bucket is below zero. Absent: none. Not on the wire. */
  readonly debt?: number;
  /** Hits of a usage report that were not charged, since the overdraft was used up. Absent: none. Not on the wire. */
  readonly cut?: number;
}

/** A header for the caller's client. Name and value are printable ASCII. */
export interface Header {
  readonly name: string;
  readonly value: string;
}

export interface Decision {
  readonly overallCode: Code;
  readonly statuses: readonly DescriptorStatus[];
  /** Decided without the store, which could not. */
  readonly fallback?: true;
  /** Denied by what the store had said before; which descriptors, their `fits` says. */
  readonly cached?: true;
  /** For the response to the client; absent: none. */
  readonly headers?: readonly Header[];
  /** For the caller's access log and its other filters; absent: none but who decided. */
  readonly metadata?: JsonObject;
}

const SECOND_US = 1_000_000;

/** Envoy cuts what is below a second, and a client told to come back too early is denied again. */
export function toSecondsUp(durationUs: number): number {
  return Math.ceil(durationUs / SECOND_US);
}

/** What an unlimited rule shows as its remaining hits: all that the wire can say. */
export const UNLIMITED_REMAINING = 2 ** 32 - 1;
