/** The reference model: a group decided as `docs/architecture.md` words it, with nothing shared with the engines. */

import type { BucketLimit, Group, GroupVerdict, Take } from '../../../src/bucket/take';
import { bucketAt, charge, isAhead, isUnused, refund, room, UNTOUCHED, waitFor, waitForReset, type ModelBucket } from './buckets';

/** All buckets of a store, and the decision on them. */
export class Model {
  private readonly buckets = new Map<string, ModelBucket>();

  decide({ group, nowUs }: { readonly group: Group; readonly nowUs: number }): GroupVerdict {
    const now = BigInt(nowUs);
    const before = new Map(keysOf(group).map((key) => [key, this.bucketNow(group, key, now)]));
    const fits = group.takes.map((take) => take.hits <= 0 || hitsOn(group, take.bucketKey) <= room(before.get(take.bucketKey)!, take.limit));
    const overLimit = !group.shadow && isOver(group, fits);
    const after = new Map(before);
    for (const [key, bucket] of before) {
      if (!overLimit) after.set(key, settle(bucket, group, key, fits));
      if (after.get(key) !== bucket || this.mustMove(group, key, now)) this.write(key, after.get(key)!);
    }
    const verdicts = group.takes.map(({ bucketKey, limit }, i) => {
      const bucket = after.get(bucketKey)!;
      const remaining = room(bucket, limit);
      return {
        fits: fits[i]!,
        remaining: remaining > 0n ? Number(remaining) : 0,
        retryAfterUs: fits[i]! ? 0 : Number(waitFor(bucket, limit, hitsOn(group, bucketKey))),
        resetAfterUs: Number(waitForReset(bucket, limit)),
      };
    });
    return { overLimit, verdicts, nowUs };
  }

  /** The bucket at the time of the group, moved on at the smallest of the group's limits on it. */
  private bucketNow(group: Group, key: string, nowUs: bigint): ModelBucket {
    return bucketAt(this.buckets.get(key) ?? { ...UNTOUCHED, atUs: nowUs }, smallestLimit(group, key), nowUs);
  }

  /** A bucket from after now is brought to now, even by a denied take; not by a peek or a refund alone. */
  private mustMove(group: Group, key: string, nowUs: bigint): boolean {
    const stored = this.buckets.get(key);
    return stored !== undefined && hitsOn(group, key) > 0n && isAhead(stored, smallestLimit(group, key), nowUs);
  }

  private write(key: string, bucket: ModelBucket): void {
    if (isUnused(bucket)) this.buckets.delete(key);
    else this.buckets.set(key, bucket);
  }
}

function keysOf(group: Group): string[] {
  return [...new Set(group.takes.map(({ bucketKey }) => bucketKey))];
}

function takesOn(group: Group, key: string): Take[] {
  return group.takes.filter(({ bucketKey }) => bucketKey === key);
}

/** The positive hits on one bucket: one sum. */
function hitsOn(group: Group, key: string): bigint {
  return takesOn(group, key).reduce((sum, { hits }) => sum + (hits > 0 ? BigInt(hits) : 0n), 0n);
}

function smallestLimit(group: Group, key: string): BucketLimit {
  const limits = takesOn(group, key).map(({ limit }) => limit);
  return limits.reduce((least, limit) => (limit.requestsPerUnit < least.requestsPerUnit ? limit : least));
}

/** An enforced descriptor has a take that does not fit, or there are quota descriptors and each has one. */
function isOver(group: Group, fits: readonly boolean[]): boolean {
  const misfits = group.takes.filter((_, i) => !fits[i]);
  if (misfits.some(({ mode }) => mode === 'enforced')) return true;
  const quota = group.takes.filter(({ mode }) => mode === 'quota').map(({ descriptor }) => descriptor);
  const quotaOver = new Set(misfits.filter(({ mode }) => mode === 'quota').map(({ descriptor }) => descriptor));
  return quota.length > 0 && !group.quotaAlwaysFits && quota.every((descriptor) => quotaOver.has(descriptor));
}

/** Charges each take that fits, then gives back; the same object if that changes nothing. */
function settle(bucket: ModelBucket, group: Group, key: string, fits: readonly boolean[]): ModelBucket {
  const limit = smallestLimit(group, key);
  let settled = bucket;
  for (const [i, take] of group.takes.entries()) {
    if (take.bucketKey === key && take.hits > 0 && fits[i]) settled = charge(settled, limit, BigInt(take.hits));
  }
  for (const { hits } of takesOn(group, key)) {
    if (hits < 0 && !isUnused(settled)) settled = refund(settled, limit, BigInt(-hits));
  }
  return settled;
}
