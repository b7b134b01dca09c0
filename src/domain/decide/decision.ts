/** A decision: the answer to one request, independent of any wire format. */

import type { Limit } from '../rule/limit';
import type { JsonObject } from '../rule/rule';
import { US_PER_S } from '../../lib/time-units';

export type Code = 'OK' | 'OVER_LIMIT';

/** The status of one descriptor; a decision has one for each, in the order of the request. */
export interface DescriptorStatus {
  readonly code: Code;
  /** The binding limit, as configured. Absent: nothing limits this descriptor. */
  readonly currentLimit?: Limit;
  /** Hits left under that limit; 0 if no limit applies, `UNLIMITED_REMAINING` for an unlimited rule. Callers see `shownRemaining`. */
  readonly limitRemaining: number;
  /** Time until the limit is reset, as its algorithm defines it, in microseconds. Present with `currentLimit`. */
  readonly durationUntilResetUs?: number;
  /** Whether the hits fit, which for a shadow descriptor may differ from the code. Not on the wire. */
  readonly fits: boolean;
  /** Whether it denies the request: an enforced descriptor that is over always does, quota descriptors only if all are over. Not on the wire. */
  readonly denies: boolean;
  /** The hits exceed the capacity, so that no wait makes them fit. Absent: they fit now or later. Not on the wire. */
  readonly neverFits?: true;
  /** How many hits the bucket is below zero. Absent: none. Not on the wire. */
  readonly debt?: number;
  /** Hits of a usage report that were not charged because the overdraft was used up. Absent: none. Not on the wire. */
  readonly cut?: number;
}

/** A header for the caller's client. Name and value are printable ASCII. */
export interface Header {
  readonly name: string;
  readonly value: string;
}

/** The decision that a candidate would have made on the hits of a descriptor. */
export interface CandidateVerdict {
  /** Index of the descriptor in the request. */
  readonly descriptor: number;
  readonly limit: Limit;
  readonly fits: boolean;
}

export interface Decision {
  readonly overallCode: Code;
  readonly statuses: readonly DescriptorStatus[];
  /** Decided without the store, which could not decide. */
  readonly fallback?: true;
  /** Denied from the deny cache; `fits` says which descriptors. */
  readonly cached?: true;
  /** The decisions that the candidates of limits would have made. Absent: there are none, or they were not asked. Not on the wire. */
  readonly candidates?: readonly CandidateVerdict[];
  /** Headers for the response to the client; absent: none. */
  readonly headers?: readonly Header[];
  /** Headers for the request to the backend; absent: none. */
  readonly requestHeaders?: readonly Header[];
  /** The body of the response to the client, which the headers describe. Absent: none; allowed requests have none. */
  readonly body?: string;
  /** Metadata for the caller's access log and other filters; absent: none, apart from the mark of a fallback. */
  readonly metadata?: JsonObject;
}

/** Rounds up, because Envoy truncates fractions of a second, and a client that returns too early is denied again. */
export function toSecondsUp(durationUs: number): number {
  return Math.ceil(durationUs / US_PER_S);
}

/**
 * `limit_remaining` of an answer. A descriptor that denies shows 0, as in envoyproxy/ratelimit, even if a few hits are left:
 * Envoy takes its `x-ratelimit-*` headers from the status with the least remaining, and that should be one that denied.
 */
export function shownRemaining({ denies, limitRemaining }: Pick<DescriptorStatus, 'denies' | 'limitRemaining'>): number {
  return denies ? 0 : limitRemaining;
}

/** Remaining hits of an unlimited rule: the largest value on the wire. */
export const UNLIMITED_REMAINING = 2 ** 32 - 1;
