/** What the store last said of each bucket: with that, a bucket that is decided without it does not start full. */

import type { BucketLimit, Verdict } from '../bucket/take';
import { NO_PLACE, RecentKeys } from '../store/recent-keys';

export interface LastKnownOptions {
  /** A clock that is never set, in milliseconds. */
  readonly nowMs: () => number;
  /** Most buckets remembered, about (`RecentKeys.places`); beyond it one not heard of for long is forgotten, and taken to be full. */
  readonly bucketsMax: number;
}

const US_PER_MS = 1_000;

/**
 * A bucket of which less than this part is used is not remembered: most are like that, and to look each of them up costs a
 * fifth of all that a decision costs. Taken to be full, it lets no more pass than the limit: the shares of all instances are four fifths together.
 */
const PART_WORTH_REMEMBERING = 1 / 16;

/** Keys that end alike share a cell; a power of two, and small enough to stay where the processor has it at hand. */
const CELLS = 4_096;

/** Of a bucket: hits used, time until it is full again, and when that was heard. */
const USED = 0;
const RESET_AFTER_US = 1;
const AT_MS = 2;
const HEARD = 3;

interface Heard {
  readonly used: number;
  readonly resetAfterUs: number;
  readonly atMs: number;
}

/**
 * Every decision of the store is heard, so this leaves nothing behind for the garbage collector: 36 bytes for each of
 * them, in arrays. Should two buckets be taken for one (`RecentKeys` says how rarely), what was heard last is
 * believed of both: at worst one is taken to be full, as one that was forgotten is.
 */
export class LastKnown {
  private readonly nowMs: () => number;
  private readonly keys: RecentKeys;
  /** By the place of the bucket's key, side by side, for that is one lookup in memory. */
  private readonly heard: Float64Array;
  /** By cell, until when anything is remembered of its keys: of most there is nothing, and this tells so without a look at the whole key. */
  private readonly untilMs = new Float64Array(CELLS);
  /** The latest of those: where all limits are far from used up, nothing is remembered of any key. */
  private lastUntilMs = 0;

  constructor({ nowMs, bucketsMax }: LastKnownOptions) {
    this.nowMs = nowMs;
    this.keys = new RecentKeys({ keysMax: bucketsMax });
    this.heard = new Float64Array(HEARD * this.keys.places);
  }

  /** `atMs`: about when the store said so. */
  hear(bucketKey: string, limit: BucketLimit, { remaining, debt = 0, resetAfterUs }: Verdict, atMs = this.nowMs()): void {
    const used = limit.capacity - remaining + debt;
    // Under a smaller limit on the same bucket, more may be used than it can say.
    if (remaining === 0 && this.used(bucketKey, limit) > used) return;
    if (used > 0 && used >= PART_WORTH_REMEMBERING * limit.capacity) this.keep(bucketKey, { used, resetAfterUs, atMs });
    // What was heard before drains by itself, but not as fast as hits are given back.
    else if (atMs < this.lastUntilMs && atMs < (this.untilMs[cellOf(bucketKey)] ?? 0)) this.keys.delete(bucketKey);
  }

  /** Hits that passed elsewhere, and count as long as told, on top of what was heard. */
  charge({ bucketKey, limit, hits, resetAfterUs }: ChargeInput): void {
    if (hits <= 0) return;
    const leftUs = this.resetAfterUs(bucketKey);
    const used = Math.min(limit.capacity, this.used(bucketKey, limit) + hits);
    this.keep(bucketKey, { used, resetAfterUs: Math.max(leftUs, resetAfterUs), atMs: this.nowMs() });
  }

  /** Hits that are left of the limit by now, if nobody has taken any since. */
  remaining(bucketKey: string, limit: BucketLimit): number {
    return Math.max(0, limit.capacity - this.used(bucketKey, limit));
  }

  /** A bucket drains evenly; of windows, what was used may have been used at their end. */
  private used(bucketKey: string, { algorithm }: BucketLimit): number {
    const leftUs = this.resetAfterUs(bucketKey);
    if (leftUs === 0) return 0;
    const at = HEARD * this.keys.find(bucketKey);
    const used = this.heard[at + USED] ?? 0;
    const resetAfterUs = this.heard[at + RESET_AFTER_US] ?? 0;
    const drains = algorithm === 'token_bucket' || algorithm === 'leaky_bucket';
    return drains && resetAfterUs < Infinity ? Math.ceil((used * leftUs) / resetAfterUs) : used;
  }

  /** Time until the bucket is full again, as far as it was heard of. */
  resetAfterUs(bucketKey: string): number {
    const place = this.keys.find(bucketKey);
    if (place === NO_PLACE) return 0;
    const at = HEARD * place;
    return Math.max(0, (this.heard[at + RESET_AFTER_US] ?? 0) - (this.nowMs() - (this.heard[at + AT_MS] ?? 0)) * US_PER_MS);
  }

  private keep(bucketKey: string, { used, resetAfterUs, atMs }: Heard): void {
    const at = HEARD * this.keys.use(bucketKey);
    this.heard[at + USED] = used;
    this.heard[at + RESET_AFTER_US] = resetAfterUs;
    this.heard[at + AT_MS] = atMs;
    const cell = cellOf(bucketKey);
    const untilMs = atMs + resetAfterUs / US_PER_MS;
    this.untilMs[cell] = Math.max(this.untilMs[cell] ?? 0, untilMs);
    this.lastUntilMs = Math.max(this.lastUntilMs, untilMs);
  }
}

/** By how long it is, and its last characters: those of a value, mostly. */
function cellOf(key: string): number {
  const { length } = key;
  const end = (key.charCodeAt(length - 1) << 8) ^ (key.charCodeAt(length - 2) << 4) ^ key.charCodeAt(length - 3) ^ (key.charCodeAt(length - 4) << 6);
  return (end ^ length) & (CELLS - 1);
}

interface ChargeInput {
  readonly bucketKey: string;
  readonly limit: BucketLimit;
  readonly hits: number;
  readonly resetAfterUs: number;
}
