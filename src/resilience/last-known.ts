/** What the store last said of each bucket: with that, a bucket that is decided without it does not start full. */

import type { BucketLimit, Verdict } from '../bucket/take';
import { UseOrderMap } from '../store/use-order-map';

export interface LastKnownOptions {
  /** A clock that is never set, in milliseconds. */
  readonly nowMs: () => number;
  /** Most buckets remembered; beyond it the one not heard of longest is forgotten, and taken to be full. */
  readonly bucketsMax: number;
}

interface Heard {
  readonly used: number;
  readonly resetAfterUs: number;
  readonly atMs: number;
}

const US_PER_MS = 1_000;

export class LastKnown {
  /** In the order in which they were heard of. */
  private readonly buckets = new UseOrderMap<Heard>();

  constructor(private readonly options: LastKnownOptions) {}

  hear(bucketKey: string, limit: BucketLimit, { remaining, resetAfterUs }: Verdict): void {
    const used = limit.capacity - remaining;
    // Under a smaller limit on the same bucket, more may be used than it can say.
    if (remaining === 0 && this.used(bucketKey, limit) > used) return;
    if (used > 0) this.keep(bucketKey, { used, resetAfterUs, atMs: this.options.nowMs() });
    else this.buckets.delete(bucketKey);
  }

  /** Hits that passed elsewhere, and count as long as told, on top of what was heard. */
  charge({ bucketKey, limit, hits, resetAfterUs }: ChargeInput): void {
    if (hits <= 0) return;
    const leftUs = this.resetAfterUs(bucketKey);
    const used = Math.min(limit.capacity, this.used(bucketKey, limit) + hits);
    this.keep(bucketKey, { used, resetAfterUs: Math.max(leftUs, resetAfterUs), atMs: this.options.nowMs() });
  }

  /** Hits that are left of the limit by now, if nobody has taken any since. */
  remaining(bucketKey: string, limit: BucketLimit): number {
    return Math.max(0, limit.capacity - this.used(bucketKey, limit));
  }

  /** A bucket drains evenly; of windows, what was used may have been used at their end. */
  private used(bucketKey: string, { algorithm }: BucketLimit): number {
    const heard = this.buckets.get(bucketKey);
    if (heard === undefined) return 0;
    const leftUs = this.resetAfterUs(bucketKey);
    if (leftUs === 0) return 0;
    const drains = algorithm === 'token_bucket' || algorithm === 'leaky_bucket';
    return drains && heard.resetAfterUs < Infinity ? Math.ceil((heard.used * leftUs) / heard.resetAfterUs) : heard.used;
  }

  /** Time until the bucket is full again, as far as it was heard of. */
  resetAfterUs(bucketKey: string): number {
    const heard = this.buckets.get(bucketKey);
    if (heard === undefined) return 0;
    return Math.max(0, heard.resetAfterUs - (this.options.nowMs() - heard.atMs) * US_PER_MS);
  }

  private keep(bucketKey: string, heard: Heard): void {
    this.buckets.set(bucketKey, heard);
    while (this.buckets.size > this.options.bucketsMax) this.buckets.deleteOldest();
  }
}

interface ChargeInput {
  readonly bucketKey: string;
  readonly limit: BucketLimit;
  readonly hits: number;
  readonly resetAfterUs: number;
}
