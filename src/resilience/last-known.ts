/** What the store last said of each bucket: with that, a bucket that is decided without it does not start full. */

import type { BucketLimit, Verdict } from '../bucket/take';

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
  private readonly buckets = new Map<string, Heard>();
  /** Goes along the front of the map, as that of the embedded store does. */
  private oldest = this.buckets.keys();

  constructor(private readonly options: LastKnownOptions) {}

  hear(bucketKey: string, limit: BucketLimit, { remaining, resetAfterUs }: Verdict): void {
    this.buckets.delete(bucketKey);
    const used = limit.capacity - remaining;
    if (used <= 0) return;
    this.buckets.set(bucketKey, { used, resetAfterUs, atMs: this.options.nowMs() });
    while (this.buckets.size > this.options.bucketsMax) this.forgetOldest();
  }

  /** Hits that are left of the limit by now, if nobody has taken any since. */
  remaining(bucketKey: string, limit: BucketLimit): number {
    const heard = this.buckets.get(bucketKey);
    if (heard === undefined) return limit.capacity;
    const elapsedUs = (this.options.nowMs() - heard.atMs) * US_PER_MS;
    if (elapsedUs >= heard.resetAfterUs) return limit.capacity;
    return Math.max(0, limit.capacity - stillUsed(heard, limit, elapsedUs));
  }

  private forgetOldest(): void {
    const next = this.oldest.next();
    if (next.done === true) this.oldest = this.buckets.keys();
    else this.buckets.delete(next.value);
  }
}

/** A bucket drains evenly; of windows, what was used may have been used at their end. */
function stillUsed({ used, resetAfterUs }: Heard, { algorithm }: BucketLimit, elapsedUs: number): number {
  const drains = algorithm === 'token_bucket' || algorithm === 'leaky_bucket';
  return drains ? Math.ceil(used * (1 - elapsedUs / resetAfterUs)) : used;
}
