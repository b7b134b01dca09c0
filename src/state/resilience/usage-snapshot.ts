/** The usage snapshot: the remaining hits that the store last reported, so that a bucket decided without the store does not start full. */

import { TRAITS } from '../../domain/algorithm/algorithms';
import { forgetRank } from '../../domain/bucket/forget-rank';
import type { BucketLimit, Verdict } from '../../domain/bucket/take';
import { NO_PLACE, KeySlots } from '../store/memory/key-slots';
import { MS_PER_S, US_PER_MS } from '../../lib/time-units';

export interface UsageSnapshotOptions {
  /** A monotonic clock, in milliseconds. */
  readonly nowMs: () => number;
  /** Approximate number of buckets to remember (`KeySlots.places`); beyond it `KeySlots` evicts one, which then counts as full. */
  readonly bucketsMax: number;
}

/**
 * A bucket with a smaller used part is not remembered. Most buckets are like that, and looking each of them up would cost a
 * fifth of a decision. Counting it as full admits at most the limit, because the shares of all instances are four fifths together.
 */
const PART_WORTH_REMEMBERING = 1 / 16;

/** Keys with similar ends share a cell. A power of two, small enough for the processor's cache. */
const CELLS = 4_096;

/** For each bucket: hits used, time until it is full again, and the time of the report. */
const USED = 0;
const RESET_AFTER_US = 1;
const AT_MS = 2;
const FIELDS = 3;

interface Usage {
  readonly used: number;
  readonly resetAfterUs: number;
  readonly atMs: number;
}

/**
 * Every decision of the store is recorded, so usage is stored in arrays, 40 bytes for each bucket, and leaves no garbage.
 * If two buckets are confused (`KeySlots` says how rarely), both have the last recorded usage:
 * at worst one counts as full, like an evicted one.
 */
export class UsageSnapshot {
  private readonly nowMs: () => number;
  /** Origin of the seconds in `keys`. */
  private readonly sinceMs: number;
  private readonly keys: KeySlots;
  /** By the place of the bucket's key, with all fields together, which takes one memory access. */
  private readonly usage: Float64Array;
  /** By cell, the time until which a key of it is remembered. Most cells are empty, which saves hashing the whole key. */
  private readonly untilMs = new Float64Array(CELLS);
  /** The latest of those times: while all limits are far from used up, no key is remembered. */
  private lastUntilMs = 0;

  constructor({ nowMs, bucketsMax }: UsageSnapshotOptions) {
    this.nowMs = nowMs;
    this.sinceMs = nowMs();
    this.keys = new KeySlots({ keysMax: bucketsMax });
    this.usage = new Float64Array(FIELDS * this.keys.places);
  }

  /** Records a verdict of the store. `atMs`: its approximate time. */
  record(bucketKey: string, limit: BucketLimit, { remaining, debt = 0, resetAfterUs }: Verdict, atMs = this.nowMs()): void {
    const used = limit.capacity - remaining + debt;
    // With a smaller limit on the same bucket, the recorded usage may exceed what this limit shows.
    if (remaining === 0 && this.used(bucketKey, limit) > used) return;
    if (used > 0 && used >= PART_WORTH_REMEMBERING * limit.capacity) this.keep(bucketKey, limit, { used, resetAfterUs, atMs });
    // Older usage drains with time, but not as fast as hits are given back.
    else if (atMs < this.lastUntilMs && atMs < (this.untilMs[cellOf(bucketKey)] ?? 0)) this.keys.delete(bucketKey);
  }

  /** Adds hits that passed elsewhere, and count for that time, to the recorded usage. */
  charge({ bucketKey, limit, hits, resetAfterUs }: ChargeInput): void {
    if (hits <= 0) return;
    const leftUs = this.resetAfterUs(bucketKey);
    const used = Math.min(limit.capacity, this.used(bucketKey, limit) + hits);
    this.keep(bucketKey, limit, { used, resetAfterUs: Math.max(leftUs, resetAfterUs), atMs: this.nowMs() });
  }

  /** Remaining hits of the limit now, without other traffic. */
  remaining(bucketKey: string, limit: BucketLimit): number {
    return Math.max(0, limit.capacity - this.used(bucketKey, limit));
  }

  /** Token and leaky buckets drain evenly; hits in windows may have been used at the end of the window. */
  private used(bucketKey: string, { algorithm }: BucketLimit): number {
    const leftUs = this.resetAfterUs(bucketKey);
    if (leftUs === 0) return 0;
    const at = FIELDS * this.keys.find(bucketKey);
    const used = this.usage[at + USED] ?? 0;
    const resetAfterUs = this.usage[at + RESET_AFTER_US] ?? 0;
    const drains = TRAITS[algorithm].restores === 'evenly';
    return drains && resetAfterUs < Infinity ? Math.ceil((used * leftUs) / resetAfterUs) : used;
  }

  /** Time until the bucket is full again, as recorded. */
  resetAfterUs(bucketKey: string): number {
    const place = this.keys.find(bucketKey);
    if (place === NO_PLACE) return 0;
    const at = FIELDS * place;
    return Math.max(0, (this.usage[at + RESET_AFTER_US] ?? 0) - (this.nowMs() - (this.usage[at + AT_MS] ?? 0)) * US_PER_MS);
  }

  private keep(bucketKey: string, { capacity }: BucketLimit, { used, resetAfterUs, atMs }: Usage): void {
    const rank = forgetRank(capacity - used, capacity, resetAfterUs);
    const until = Math.max(0, Math.ceil((atMs - this.sinceMs + resetAfterUs / US_PER_MS) / MS_PER_S));
    const place = this.keys.use(bucketKey, { rank, until, now: Math.max(0, Math.floor((atMs - this.sinceMs) / MS_PER_S)) });
    if (place === NO_PLACE) return;
    const at = FIELDS * place;
    this.usage[at + USED] = used;
    this.usage[at + RESET_AFTER_US] = resetAfterUs;
    this.usage[at + AT_MS] = atMs;
    const cell = cellOf(bucketKey);
    const untilMs = atMs + resetAfterUs / US_PER_MS;
    this.untilMs[cell] = Math.max(this.untilMs[cell] ?? 0, untilMs);
    this.lastUntilMs = Math.max(this.lastUntilMs, untilMs);
  }
}

/** From the length of the key and its last characters, which are usually those of a value. */
function cellOf(key: string): number {
  const { length } = key;
  const end =
    (key.charCodeAt(length - 1) << 8) ^ (key.charCodeAt(length - 2) << 4) ^ key.charCodeAt(length - 3) ^ (key.charCodeAt(length - 4) << 6);
  return (end ^ length) & (CELLS - 1);
}

interface ChargeInput {
  readonly bucketKey: string;
  readonly limit: BucketLimit;
  readonly hits: number;
  readonly resetAfterUs: number;
}
