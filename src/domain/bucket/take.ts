/** The input of a store, takes that are decided in groups, and its output, verdicts. */

import type { AlgorithmLimit } from '../algorithm/algorithm-limit';
import { TRAITS, type BucketAlgorithm } from '../algorithm/algorithms';
import { isOutside } from '../algorithm/window';
import { LIMIT_MAX, type FailureMode, type Leases } from '../rule/limit';
import type { Mode } from '../rule/mode';

/** The limit of a bucket, with the algorithm that counts it. */
export interface BucketLimit extends AlgorithmLimit {
  readonly algorithm: BucketAlgorithm;
  /** Absent: the setting `LEASES`. */
  readonly leases?: Leases | undefined;
  /** Hits beyond the capacity that are left to other classes of a reserve. Absent: none. */
  readonly reserved?: number;
}

/** The limit of the bucket with what is reserved. */
export function wholeLimit(limit: BucketLimit): BucketLimit {
  const { capacity, reserved, ...others } = limit;
  return reserved === undefined ? limit : { capacity: capacity + reserved, ...others };
}

/** The most hits that may be left in a bucket: credits raise a budget above its capacity. */
export function roomMaxOf({ algorithm, capacity }: Pick<BucketLimit, 'algorithm' | 'capacity'>): number {
  return TRAITS[algorithm].restores === 'never' ? LIMIT_MAX : capacity;
}

/** Requests hits from one bucket, under one limit. */
export interface Take {
  readonly bucketKey: string;
  readonly limit: BucketLimit;
  /** Positive: hits to charge. 0: a check, which fits while one hit is left. Negative: a refund. */
  readonly hits: number;
  readonly mode: Mode;
  /**
   * Marks a usage report: its hits are charged or refunded whatever the verdict on the request, until the bucket
   * is this number of hits below zero. Absent: an admission, charged together with the others or not at all.
   */
  readonly overdraftMax?: number;
  /**
   * For requests in flight: names the slot to take or to release, in 16 hexadecimal digits. A request that already has its slot
   * fits and takes no other. Absent: slots are interchangeable, and the oldest are released first.
   */
  readonly slotId?: string;
  /** Only reads the bucket: always fits and changes nothing. `hits` is then 0. */
  readonly peek?: true;
  /** Decides the take while the store cannot; absent: the default. */
  readonly failureMode?: FailureMode;
  /** Index of its descriptor in the request: a quota descriptor is over if any of its takes does not fit. */
  readonly descriptor: number;
}

/** All takes of one request: charged together or not at all, except usage reports. */
export interface Group {
  readonly takes: readonly Take[];
  /** The request has a quota descriptor that always fits (unmatched, or shadow), so quota alone never denies it. */
  readonly quotaAlwaysFits: boolean;
  /** `SHADOW_MODE`: the request is answered OK even if takes do not fit. */
  readonly shadow: boolean;
  /** Judges only: the verdicts say what would happen, and nothing is charged or refunded. */
  readonly dry?: true;
}

/** Changes one bucket without a verdict. */
export interface Adjustment {
  readonly bucketKey: string;
  readonly limit: BucketLimit;
  /** Positive: charged, as far as there is room. Negative: hits of an earlier take, given back. */
  readonly hits: number;
  /** For charged hits: how far below zero they may take the bucket. Absent: not below zero. */
  readonly overdraftMax?: number;
  /** For hits given back: the server time of their take. */
  readonly takenAtUs: number;
  /** For hits given back: hits used in the bucket before their take. A value that is too low gives back less. */
  readonly usedBefore: number;
  /** For hits given back: the slot that their take created. */
  readonly slotId?: string;
}

/** Replaces the number of applied hits: the bucket is unreadable, or the store's clock is outside of the limit's windows. */
export const NOT_ADJUSTED = -1;

/** The store's clock is outside of the windows of a take: nothing was decided, and the caller must ask again. */
export interface OutsideWindows {
  readonly outsideAtUs: number;
}

export function isOutsideWindows(outcome: object | undefined): outcome is OutsideWindows {
  return outcome !== undefined && 'outsideAtUs' in outcome;
}

/** Whether a take names calendar windows that do not include this time. Twin of `is_outside_windows` in Lua. */
export function isGroupOutside({ takes }: Group, nowUs: number): boolean {
  for (const { limit } of takes) if (limit.edgesUs !== undefined && isOutside(limit, nowUs)) return true;
  return false;
}

export interface Verdict {
  readonly fits: boolean;
  /** Hits left after the group under this take's limit, at least 0. */
  readonly remaining: number;
  /**
   * Time until the same hits would fit without other traffic (for a usage report: until one hit is left); 0 if they
   * fit, `NEVER` if they cannot.
   */
  readonly retryAfterUs: number;
  /** Time until the bucket is full again (for a fixed window: until the window ends). */
  readonly resetAfterUs: number;
  /** For a take that does not fit: how many hits the bucket is below zero. Absent: none. */
  readonly debt?: number;
  /** For a usage report: hits that were not charged because the overdraft was used up. Absent: none. */
  readonly cut?: number;
  /** The take denies the request, or would without `SHADOW_MODE` (`src/domain/decide/denial-rule.ts`). Absent: it does not. */
  readonly denies?: true;
}

/** A verdict that is not complete yet. */
export type OpenVerdict = { -readonly [Part in keyof Verdict]: Verdict[Part] };

/** Hits that must be left for the take to fit; one for a check. `hitsOfAll`: the positive hits of its group on its bucket. */
export function neededHits({ hits, peek }: Pick<Take, 'hits' | 'peek'>, hitsOfAll: number): number {
  if (hits < 0 || peek === true) return 0;
  return hits === 0 ? 1 : hitsOfAll;
}

/** The same take, reading its bucket only. */
export function toPeek({ bucketKey, limit, mode, descriptor, failureMode }: Take): Take {
  if (failureMode === undefined) return { bucketKey, limit, hits: 0, mode, descriptor, peek: true };
  return { bucketKey, limit, hits: 0, mode, descriptor, peek: true, failureMode };
}

export function isUsageReport({ overdraftMax }: Pick<Take, 'overdraftMax'>): boolean {
  return overdraftMax !== undefined;
}

export function hasUsageReport({ takes }: Pick<Group, 'takes'>): boolean {
  for (const take of takes) if (isUsageReport(take)) return true;
  return false;
}

/** Takes up to this number are compared in pairs: more costs more for few. */
const PAIRS_MAX = 6;
/** Beyond this number a set costs less; a request may have about 2,000 takes. */
const COMPARED_MAX = 64;

/** The characters that `namesBucketTwice` compares first. The array is reused, because every command checks its groups. */
const codes: number[] = [];

/** Whether two takes of the group are on one bucket. */
export function namesBucketTwice({ takes }: Pick<Group, 'takes'>): boolean {
  if (takes.length > COMPARED_MAX) return new Set(takes.map(({ bucketKey }) => bucketKey)).size < takes.length;
  // Keys of one request are long and much alike. So pairs are compared only if they have the same character where the first two keys differ.
  const at = takes.length > PAIRS_MAX ? firstDifference(takes[0]?.bucketKey ?? '', takes[1]?.bucketKey ?? '') : undefined;
  for (let i = 0; i < takes.length; i += 1) {
    const key = takes[i]?.bucketKey ?? '';
    // 0 if the key is shorter.
    const code = at === undefined ? 0 : key.charCodeAt(at) | 0;
    for (let earlier = 0; earlier < i; earlier += 1) if (codes[earlier] === code && takes[earlier]?.bucketKey === key) return true;
    codes[i] = code;
  }
  return false;
}

/** Where two keys differ first; for equal keys, their length. */
function firstDifference(a: string, b: string): number {
  let at = 0;
  while (at < a.length && a.charCodeAt(at) === b.charCodeAt(at)) at += 1;
  return at;
}

export interface GroupVerdict {
  /** The request is denied: a take denies it, without `SHADOW_MODE`, or a share of reservations is exhausted. */
  readonly overLimit: boolean;
  /** One for each take, in their order. */
  readonly verdicts: readonly Verdict[];
  /** Server time of the decision, in microseconds since 1970. */
  readonly nowUs: number;
  /** Decided without the store, which could not decide. */
  readonly fallback?: true;
  /** A cached denial, without asking the store again. */
  readonly cached?: true;
  /** Admitted from leases, without asking the store. */
  readonly leased?: true;
}
