/** What is asked of a store: takes, decided together in groups; and its answer, verdicts. */

import type { BucketAlgorithm, FailureMode } from '../rule/limit';

/** What an algorithm needs to know of a limit. */
export interface BucketLimit {
  readonly algorithm: BucketAlgorithm;
  readonly windowUs: number;
  readonly requestsPerUnit: number;
  readonly capacity: number;
  /**
   * Start and end of each window of the calendar around now, in microseconds, ascending: of a calendar limit only. A
   * store has no calendar; it looks for its own now between them.
   */
  readonly edgesUs?: readonly number[];
}

/** How a take that does not fit bears on the request. */
export type Mode = 'enforced' | 'quota' | 'shadow';

/** Hits to be taken from one bucket, under one limit. */
export interface Take {
  readonly bucketKey: string;
  readonly limit: BucketLimit;
  /** Positive: to be charged. 0: a check, which fits while one hit is left. Negative: a refund. */
  readonly hits: number;
  readonly mode: Mode;
  /**
   * The take is a usage report: its hits are charged, or refunded, whatever the verdict on the request, until the bucket
   * is this many hits below zero. Absent: an admission, charged together with the others or not at all.
   */
  readonly overdraftMax?: number;
  /**
   * Of requests in flight: names the one slot that is taken or released, in 16 hexadecimal digits. One that has its slot already
   * fits and takes no other. Absent: slots are alike, and the oldest are released first.
   */
  readonly slotId?: string;
  /** Only reads the bucket: fits always and changes nothing. `hits` is then 0. */
  readonly peek?: true;
  /** What decides on it while the store can't; absent: the default. */
  readonly failureMode?: FailureMode;
  /** Place of its descriptor in the request: a quota descriptor is over when any of its takes does not fit. */
  readonly descriptor: number;
}

/** All takes of one request: charged together or not at all, usage reports apart. */
export interface Group {
  readonly takes: readonly Take[];
  /** The request has a quota descriptor that always fits (unmatched, or shadow), so quota alone denies nothing. */
  readonly quotaAlwaysFits: boolean;
  /** `SHADOW_MODE`: whatever does not fit, the request is answered OK. */
  readonly shadow: boolean;
  /** Only asked: the answer says what would be, and nothing is charged or refunded. */
  readonly dry?: true;
}

/** Hits that a bucket is put right by, without any decision. */
export interface Settlement {
  readonly bucketKey: string;
  readonly limit: BucketLimit;
  /** Positive: charged, as many as there is room for. Negative: hits of an earlier take, given back. */
  readonly hits: number;
  /** Of charged hits: how far below zero they may take the bucket. Absent: not at all. */
  readonly overdraftMax?: number;
  /** Of hits given back: the server time of their take. */
  readonly takenAtUs: number;
  /** Of hits given back: hits used in the bucket before their take. Too low a number gives back less. */
  readonly usedBefore: number;
  /** Of hits given back: the slot that their take has made. */
  readonly slotId?: string;
}

/** In place of hits applied: the bucket can't be read, or the store's now lies outside the windows that the limit names. */
export const UNSETTLED = -1;

/** The store's now lies outside the windows that a take named: nothing was decided, and it is to be asked again. */
export interface OutsideWindows {
  readonly outsideAtUs: number;
}

/** Whether some take names windows of which none holds this time. Twin of `is_outside_windows` in Lua. */
export function isOutsideWindows({ takes }: Group, nowUs: number): boolean {
  for (const { limit } of takes) if (limit.edgesUs !== undefined && isOutside(limit, nowUs)) return true;
  return false;
}

/** Whether the limit names calendar windows of which none holds this time. Twin of `is_outside` in Lua. */
export function isOutside({ edgesUs }: BucketLimit, atUs: number): boolean {
  const [first, last] = [edgesUs?.[0], edgesUs?.at(-1)];
  return first !== undefined && last !== undefined && (atUs < first || atUs >= last);
}

export interface Verdict {
  readonly fits: boolean;
  /** Hits left after the group under this take's limit, at least 0. */
  readonly remaining: number;
  /**
   * Time until the same hits would fit if nobody else took any (of a usage report: until one hit is left); 0 if they
   * fit, `NEVER` if they can't.
   */
  readonly retryAfterUs: number;
  /** Time until the bucket is full again (of a fixed window: until the window ends). */
  readonly resetAfterUs: number;
  /** Of a take that does not fit: hits that the bucket is below zero. Absent: none. */
  readonly debt?: number;
  /** Of a usage report: hits that were not charged, since the overdraft was used up. Absent: none. */
  readonly cut?: number;
}

export const NEVER = -1;

/** Hits that must be left for the take to fit: of a check, one. `hitsOfAll`: the positive hits of its group on its bucket. */
export function neededHits({ hits, peek }: Pick<Take, 'hits' | 'peek'>, hitsOfAll: number): number {
  if (hits < 0 || peek === true) return 0;
  return hits === 0 ? 1 : hitsOfAll;
}

/** The same take, which now only reads its bucket. */
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

export interface GroupVerdict {
  readonly overLimit: boolean;
  /** One for each take, in their order. */
  readonly verdicts: readonly Verdict[];
  /** Server time of the decision, in microseconds since 1970. */
  readonly nowUs: number;
  /** The store could not decide, and this was decided without it. */
  readonly fallback?: true;
  /** Denied by what the store has said before, without asking it again. */
  readonly cached?: true;
}
