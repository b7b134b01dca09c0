/** The reference model: a group decided as `docs/internals/semantics.md` words it, with nothing shared with the engines. */

import type { BucketLimit, Group, GroupVerdict, Take } from '../../../src/domain/bucket/take';
import { bucketAt, charge, isAhead, isUnused, refund, room, UNTOUCHED, waitFor, waitForReset, type ModelBucket } from './buckets';

/** All buckets of a store, and the decision on them. */
export class Model {
  private readonly buckets = new Map<string, ModelBucket>();

  decide({ group, nowUs }: { readonly group: Group; readonly nowUs: number }): GroupVerdict {
    const now = BigInt(nowUs);
    const before = new Map(keysOf(group).map((key) => [key, this.bucketNow(group, key, now)]));
    const fits = group.takes.map(
      (take) => needed(group, take) <= 0n || needed(group, take) <= room(before.get(take.bucketKey)!, take.limit),
    );
    const denies = whoDenies(group, fits);
    const overLimit = !group.shadow && denies.includes(true);
    const after = new Map(before);
    const cut = group.takes.map(() => 0);
    for (const [key, bucket] of before) {
      after.set(key, settle({ bucket, group, key, fits, overLimit, cut }));
      if (after.get(key) !== bucket || this.mustMove(group, key, now)) this.write(key, after.get(key)!);
    }
    const verdicts = group.takes.map(({ bucketKey, limit, overdraftMax }, i) => {
      const bucket = after.get(bucketKey)!;
      const remaining = room(bucket, limit);
      // What a report has charged is charged: it waits for the next hit.
      const awaited = overdraftMax === undefined ? needed(group, group.takes[i]!) : 1n;
      return {
        fits: fits[i]!,
        remaining: remaining > 0n ? Number(remaining) : 0,
        retryAfterUs: fits[i]! ? 0 : Number(waitFor(bucket, limit, awaited)),
        resetAfterUs: Number(waitForReset(bucket, limit)),
        ...(!fits[i]! && remaining < 0n && { debt: Number(-remaining) }),
        ...(cut[i]! > 0 && { cut: cut[i]! }),
        ...(denies[i]! && { denies: true as const }),
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

/** The enforced takes that do not fit; and the quota takes that do not, if each quota descriptor has one. */
function whoDenies(group: Group, fits: readonly boolean[]): boolean[] {
  const quota = group.takes.filter(({ mode }) => mode === 'quota').map(({ descriptor }) => descriptor);
  const misfits = group.takes.filter((_, i) => !fits[i]);
  const quotaOver = new Set(misfits.filter(({ mode }) => mode === 'quota').map(({ descriptor }) => descriptor));
  const quotaDenies = !group.quotaAlwaysFits && quota.every((descriptor) => quotaOver.has(descriptor));
  return group.takes.map(({ mode }, i) => !fits[i]! && (mode === 'enforced' || (mode === 'quota' && quotaDenies)));
}

/** Hits that must be left for a take to fit: a check asks for one, a refund and a peek for none. */
function needed(group: Group, { hits, peek, bucketKey }: Take): bigint {
  if (peek === true || hits < 0) return 0n;
  return hits === 0 ? 1n : hitsOn(group, bucketKey);
}

interface SettleInput {
  readonly bucket: ModelBucket;
  readonly group: Group;
  readonly key: string;
  readonly fits: readonly boolean[];
  readonly overLimit: boolean;
  /** Of each take, hits of a report that lie beyond its overdraft: noted here. */
  readonly cut: number[];
}

/**
 * Charges each admission that fits, unless the request is over; then reports, whatever the request is; then gives back in
 * the same order. The same object if that changes nothing.
 */
function settle({ bucket, group, key, fits, overLimit, cut }: SettleInput): ModelBucket {
  if (group.dry === true) return bucket;
  const limit = smallestLimit(group, key);
  const own = group.takes.map((take, i) => ({ take, i })).filter(({ take }) => take.bucketKey === key);
  const admissions = overLimit ? [] : own.filter(({ take }) => take.overdraftMax === undefined);
  const reports = own.filter(({ take }) => take.overdraftMax !== undefined);
  let settled = bucket;
  for (const { take, i } of admissions) if (take.hits > 0 && fits[i]!) settled = charge(settled, limit, BigInt(take.hits));
  for (const { take, i } of reports) {
    if (take.hits <= 0) continue;
    const downTo = room(settled, take.limit) + BigInt(take.overdraftMax!);
    // The middle one of none, all, and what the overdraft leaves.
    const charged = [0n, downTo, BigInt(take.hits)].sort((a, b) => (a < b ? -1 : 1))[1]!;
    if (charged > 0n) settled = charge(settled, limit, charged);
    cut[i] = take.hits - Number(charged);
  }
  for (const { take } of [...admissions, ...reports]) {
    if (take.hits < 0 && (limit.algorithm === 'budget' || !isUnused(settled))) settled = refund(settled, limit, BigInt(-take.hits));
  }
  return settled;
}
