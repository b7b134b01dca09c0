/** What the store last said of each bucket: with that, a bucket that is decided without it does not start full. */

import type { BucketLimit, Verdict } from '../bucket/take';
import { NO_NUMBER, RecentKeys } from '../store/recent-keys';

export interface LastKnownOptions {
  /** A clock that is never set, in milliseconds. */
  readonly nowMs: () => number;
  /** Most buckets remembered; beyond it the one not heard of longest is forgotten, and taken to be full. */
  readonly bucketsMax: number;
}

const US_PER_MS = 1_000;

/**
 * Every decision of the store is heard, so this leaves nothing behind for the garbage collector: some 50 bytes for each of
 * `bucketsMax`, in arrays. Should two buckets be taken for one (`RecentKeys` says how rarely), what was heard last is
 * believed of both: at worst one is taken to be full, as one that was forgotten is.
 */
export class LastKnown {
  private readonly nowMs: () => number;
  private readonly keys: RecentKeys;
  /** By the number of the bucket's key: hits used, time until it is full again, and when that was heard. */
  private readonly heardUsed: Float64Array;
  private readonly heardResetAfterUs: Float64Array;
  private readonly heardAtMs: Float64Array;

  constructor({ nowMs, bucketsMax }: LastKnownOptions) {
    this.nowMs = nowMs;
    this.keys = new RecentKeys({ keysMax: bucketsMax });
    this.heardUsed = new Float64Array(1 + bucketsMax);
    this.heardResetAfterUs = new Float64Array(1 + bucketsMax);
    this.heardAtMs = new Float64Array(1 + bucketsMax);
  }

  hear(bucketKey: string, limit: BucketLimit, { remaining, resetAfterUs }: Verdict): void {
    const used = limit.capacity - remaining;
    // Under a smaller limit on the same bucket, more may be used than it can say.
    if (remaining === 0 && this.used(bucketKey, limit) > used) return;
    if (used > 0) this.keep(bucketKey, used, resetAfterUs);
    else this.keys.delete(bucketKey);
  }

  /** Hits that passed elsewhere, and count as long as told, on top of what was heard. */
  charge({ bucketKey, limit, hits, resetAfterUs }: ChargeInput): void {
    if (hits <= 0) return;
    const leftUs = this.resetAfterUs(bucketKey);
    const used = Math.min(limit.capacity, this.used(bucketKey, limit) + hits);
    this.keep(bucketKey, used, Math.max(leftUs, resetAfterUs));
  }

  /** Hits that are left of the limit by now, if nobody has taken any since. */
  remaining(bucketKey: string, limit: BucketLimit): number {
    return Math.max(0, limit.capacity - this.used(bucketKey, limit));
  }

  /** A bucket drains evenly; of windows, what was used may have been used at their end. */
  private used(bucketKey: string, { algorithm }: BucketLimit): number {
    const leftUs = this.resetAfterUs(bucketKey);
    if (leftUs === 0) return 0;
    const number = this.keys.find(bucketKey);
    const used = this.heardUsed[number] ?? 0;
    const resetAfterUs = this.heardResetAfterUs[number] ?? 0;
    const drains = algorithm === 'token_bucket' || algorithm === 'leaky_bucket';
    return drains && resetAfterUs < Infinity ? Math.ceil((used * leftUs) / resetAfterUs) : used;
  }

  /** Time until the bucket is full again, as far as it was heard of. */
  resetAfterUs(bucketKey: string): number {
    const number = this.keys.find(bucketKey);
    if (number === NO_NUMBER) return 0;
    return Math.max(0, (this.heardResetAfterUs[number] ?? 0) - (this.nowMs() - (this.heardAtMs[number] ?? 0)) * US_PER_MS);
  }

  private keep(bucketKey: string, used: number, resetAfterUs: number): void {
    const number = this.keys.use(bucketKey);
    this.heardUsed[number] = used;
    this.heardResetAfterUs[number] = resetAfterUs;
    this.heardAtMs[number] = this.nowMs();
  }
}

interface ChargeInput {
  readonly bucketKey: string;
  readonly limit: BucketLimit;
  readonly hits: number;
  readonly resetAfterUs: number;
}
