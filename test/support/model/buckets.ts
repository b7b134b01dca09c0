/** One bucket as the definitions of the algorithms have it: whole histories and exact fractions, slow and obvious. */

import type { BucketLimit } from '../../../src/domain/bucket/take';

/** Hits taken at one moment, and still remembered. */
interface Event {
  readonly atUs: bigint;
  readonly hits: bigint;
}

/** What is remembered of a bucket. */
export interface ModelBucket {
  /** When it was last written. */
  readonly atUs: bigint;
  /** Window algorithms: every hit that may still count, oldest first. */
  readonly events: readonly Event[];
  /** Token and leaky bucket: hits used and not yet flowed back, in parts of 1 / window µs. A fraction, never rounded. Budget: whole hits, negative after credits. */
  readonly level: bigint;
}

export const UNTOUCHED: ModelBucket = { atUs: 0n, events: [], level: 0n };

/** A hundred years: no duration is longer. */
const LONGEST_US = 3_153_600_000_000_000n;

function isLevel({ algorithm }: BucketLimit): boolean {
  return algorithm === 'token_bucket' || algorithm === 'leaky_bucket';
}

function isBudget({ algorithm }: BucketLimit): boolean {
  return algorithm === 'budget';
}

const EXACT_MAX = BigInt(Number.MAX_SAFE_INTEGER);

function windowOf(limit: BucketLimit): bigint {
  return BigInt(limit.windowUs);
}

function indexOf(limit: BucketLimit, atUs: bigint): bigint {
  return atUs / windowOf(limit);
}

/** Whether the bucket is of a later moment (of a later window, where only windows are told apart). */
export function isAhead(bucket: ModelBucket, limit: BucketLimit, nowUs: bigint): boolean {
  if (isBudget(limit)) return false;
  if (isLevel(limit)) return bucket.atUs > nowUs;
  if (limit.algorithm === 'sliding_window_log') return bucket.events.some(({ atUs }) => atUs > nowUs);
  return indexOf(limit, bucket.atUs) > indexOf(limit, nowUs);
}

/** What the bucket is at that time, under that limit. */
export function bucketAt(bucket: ModelBucket, limit: BucketLimit, nowUs: bigint): ModelBucket {
  if (isBudget(limit)) return { ...bucket, atUs: nowUs };
  if (isLevel(limit)) {
    const elapsedUs = nowUs > bucket.atUs ? nowUs - bucket.atUs : 0n;
    const level = bucket.level - elapsedUs * BigInt(limit.requestsPerUnit);
    return { ...bucket, atUs: nowUs, level: level > 0n ? level : 0n };
  }
  const windowUs = windowOf(limit);
  if (limit.algorithm === 'sliding_window_log') {
    const events = bucket.events
      .filter(({ atUs }) => atUs + windowUs > nowUs)
      .map(({ atUs, hits }) => ({ atUs: atUs > nowUs ? nowUs : atUs, hits }));
    return { ...bucket, atUs: nowUs, events };
  }
  const ahead = indexOf(limit, bucket.atUs) - indexOf(limit, nowUs);
  const shiftUs = ahead > 0n ? ahead * windowUs : 0n;
  const oldest = indexOf(limit, nowUs) - (limit.algorithm === 'fixed_window' ? 0n : 1n);
  const events = bucket.events
    .map(({ atUs, hits }) => ({ atUs: atUs - shiftUs, hits }))
    .filter(({ atUs }) => indexOf(limit, atUs) >= oldest);
  return { ...bucket, atUs: nowUs, events };
}

function sum(events: readonly Event[]): bigint {
  return events.reduce((total, { hits }) => total + hits, 0n);
}

function ceilDivide(a: bigint, b: bigint): bigint {
  return (a + b - 1n) / b;
}

/** Hits that stand against the limit, of a bucket that is of now: rounded up, so that a part of a hit is one. */
function usedHits(bucket: ModelBucket, limit: BucketLimit): bigint {
  const windowUs = windowOf(limit);
  if (isBudget(limit)) return bucket.level;
  if (isLevel(limit)) return ceilDivide(bucket.level, windowUs);
  if (limit.algorithm !== 'sliding_window_counter') return sum(bucket.events);
  const current = bucket.events.filter(({ atUs }) => indexOf(limit, atUs) === indexOf(limit, bucket.atUs));
  const previous = sum(bucket.events) - sum(current);
  const overlapUs = windowUs - (bucket.atUs % windowUs);
  return sum(current) + ceilDivide(previous * overlapUs, windowUs);
}

/** Hits that fit; negative if overdrawn. */
export function room(bucket: ModelBucket, limit: BucketLimit): bigint {
  const left = BigInt(limit.capacity) - usedHits(bucket, limit);
  const least = BigInt(Number.MIN_SAFE_INTEGER);
  if (left > EXACT_MAX) return EXACT_MAX;
  return left > least ? left : least;
}

export function isUnused(bucket: ModelBucket): boolean {
  return bucket.level === 0n && sum(bucket.events) === 0n;
}

export function charge(bucket: ModelBucket, limit: BucketLimit, hits: bigint): ModelBucket {
  if (isBudget(limit)) return { ...bucket, level: bucket.level + hits };
  if (isLevel(limit)) return { ...bucket, level: bucket.level + hits * windowOf(limit) };
  return { ...bucket, events: [...bucket.events, { atUs: bucket.atUs, hits }] };
}

/** The newest hits go first. */
export function refund(bucket: ModelBucket, limit: BucketLimit, hits: bigint): ModelBucket {
  if (isBudget(limit)) {
    const level = bucket.level - hits;
    return { ...bucket, level: level < -EXACT_MAX ? -EXACT_MAX : level };
  }
  if (isLevel(limit)) {
    const level = bucket.level - hits * windowOf(limit);
    return { ...bucket, level: level > 0n ? level : 0n };
  }
  const events: Event[] = [];
  let left = hits;
  for (const event of [...bucket.events].reverse()) {
    const given = event.hits < left ? event.hits : left;
    left -= given;
    if (event.hits > given) events.unshift({ ...event, hits: event.hits - given });
  }
  return { ...bucket, events };
}

/** Least time after which that many hits fit, if nobody else takes any; -1 if they never do. */
export function waitFor(bucket: ModelBucket, limit: BucketLimit, hits: bigint): bigint {
  if (hits > BigInt(limit.capacity)) return -1n;
  if (isBudget(limit)) return room(bucket, limit) >= hits ? 0n : -1n;
  return leastUs(limit, (afterUs) => room(bucketAt(bucket, limit, bucket.atUs + afterUs), limit) >= hits);
}

/** Time until the bucket is as good as unused; of a fixed window, until the window ends. */
export function waitForReset(bucket: ModelBucket, limit: BucketLimit): bigint {
  if (isBudget(limit)) return LONGEST_US;
  if (limit.algorithm === 'fixed_window') return windowOf(limit) - (bucket.atUs % windowOf(limit));
  if (limit.requestsPerUnit === 0 && (isLevel(limit) || isUnused(bucket))) return windowOf(limit);
  return leastUs(limit, (afterUs) => isUnused(bucketAt(bucket, limit, bucket.atUs + afterUs)));
}

/** The least time for which the test holds, given that it then holds for all longer ones: tried, not computed. */
function leastUs(limit: BucketLimit, holds: (afterUs: bigint) => boolean): bigint {
  // A window lets go of everything within two of its lengths; a bucket may take the longest time there is.
  const longestUs = isLevel(limit) ? LONGEST_US : 2n * windowOf(limit);
  if (holds(0n)) return 0n;
  if (!holds(longestUs)) return limit.requestsPerUnit === 0 ? windowOf(limit) : longestUs;
  let tooShortUs = 0n;
  let enoughUs = longestUs;
  while (enoughUs - tooShortUs > 1n) {
    const middleUs = (tooShortUs + enoughUs) / 2n;
    if (holds(middleUs)) enoughUs = middleUs;
    else tooShortUs = middleUs;
  }
  return enoughUs;
}
