/**
 * Decides one group: which takes fit, whether the request is over its limits, and what is charged. Twin of
 * `lua/include/decide-group.lua`, which runs in Redis; this code runs in the embedded store.
 */

import { forgetRank } from '../bucket/forget-rank';
import { neededHits, type BucketLimit, type Group, type GroupVerdict, type OpenVerdict, type Take } from '../bucket/take';
import { NEVER, type Engine } from '../algorithm/engine';
import { TRAITS, type BucketState } from '../algorithm/algorithms';
import { markDenials } from './denial-rule';

/** How long a bucket is kept after it became full: covers a small step back of the clock. */
export const EXPIRY_MARGIN_US = 2_000_000;

/** A bucket to store after a group or an adjustment. */
export interface BucketWrite {
  readonly bucketKey: string;
  /** Absent: the bucket equals a fresh one and can be deleted. */
  readonly state?: BucketState;
  /** Absent: the expiry of the existing bucket stays, because no limit defines another one. */
  readonly expiresAfterUs?: number;
  /** Cost of evicting it (`forgetRank`). Absent: unchanged. */
  readonly rank?: number;
}

/** Storage of the group's buckets. */
export interface Buckets {
  read(bucketKey: string): BucketState | undefined;
  /**
   * Stores or deletes a bucket as a `BucketWrite` says, with plain parameters because an object for each decision would cost too much. For a
   * denied or dry group, only buckets ahead of the clock are written.
   */
  write(bucketKey: string, state: BucketState | undefined, expiresAfterUs: number | undefined, rank: number | undefined): void;
}

/** One bucket of the group, for all takes on it. */
interface GroupBucket {
  readonly bucketKey: string;
  /** Index of its first take in the group. */
  readonly first: number;
  readonly engine: Engine<BucketState>;
  /** The smallest limit of its takes, which advances its state. */
  limit: BucketLimit;
  /** The smallest limit that refills at all: when the bucket is full under it, it is full under each. */
  expiryLimit: BucketLimit | undefined;
  /** Sum of the positive hits of its takes; for takes with slot ids, one hit for each id without a slot. */
  hits: number;
  /** Ids of requested slots that do not exist yet. Undefined: none. */
  newSlots: Set<string> | undefined;
  /** The part of `hits` that admissions that fit are charged. */
  charged: number;
  readonly stored: BucketState | undefined;
  state: BucketState;
  isChanged: boolean;
  /** Time until it is full again, if the expiry must be set. */
  resetAfterUs: number | undefined;
}

/**
 * Decides a group on the stored buckets, and writes those that it changes.
 *
 * - All positive hits on one bucket are one sum; it fits a take if it fits that take's own limit. A check fits while
 *   one hit is left.
 * - The request is over if an enforced take does not fit, or if there are quota descriptors and each has a take that
 *   does not fit. Then admissions are neither charged nor refunded.
 * - Otherwise every admission that fits is charged, and then refunds apply. One that does not fit (shadow, quota) is not charged.
 * - Usage reports and released slots apply in either case, after the admissions.
 * - Each slot id is one hit, or none if its slot exists: then the take fits.
 * - A dry group is judged in the same way and changes nothing: `remaining` is the current value.
 */
export function decideGroup(input: DecideGroupInput): GroupVerdict {
  const { group, buckets, nowUs } = input;
  const { takes } = group;
  const ofTakes = gatherBuckets(input);
  const verdicts = new Array<OpenVerdict>(takes.length);
  for (let i = 0; i < takes.length; i += 1) {
    verdicts[i] = { fits: fitTake(takeAt(takes, i), bucketAt(ofTakes, i)), remaining: 0, retryAfterUs: 0, resetAfterUs: 0 };
  }
  const overLimit = markDenials(group, verdicts) && !group.shadow;
  if (group.dry !== true) applyTakes({ takes, ofTakes, verdicts, overLimit });
  for (let i = 0; i < takes.length; i += 1) {
    const bucket = bucketAt(ofTakes, i);
    if (bucket.first !== i) continue;
    if (!bucket.isChanged) bucket.isChanged = mustBeRetimed(bucket, nowUs);
    if (bucket.isChanged) findExpiry(bucket, nowUs);
  }
  for (let i = 0; i < takes.length; i += 1) {
    const verdict = verdicts[i];
    if (verdict !== undefined) describe(verdict, takeAt(takes, i), bucketAt(ofTakes, i), nowUs);
  }
  // Written last, so that an earlier error changes no bucket.
  for (let i = 0; i < takes.length; i += 1) {
    const bucket = bucketAt(ofTakes, i);
    if (bucket.first === i && bucket.isChanged) write(bucket, buckets);
  }
  return { overLimit, verdicts, nowUs };
}

interface DecideGroupInput {
  readonly group: Group;
  readonly buckets: Buckets;
  readonly nowUs: number;
}

/** Takes up to this number are searched linearly for the same bucket; beyond it a Map is used. */
const LOOKED_THROUGH_MAX = 8;

/** The bucket of each take, in their order. */
function gatherBuckets({ group, buckets, nowUs }: DecideGroupInput): readonly GroupBucket[] {
  const { takes } = group;
  const ofTakes = new Array<GroupBucket>(takes.length);
  const byKey = takes.length > LOOKED_THROUGH_MAX ? new Map<string, GroupBucket>() : undefined;
  let hasSlots = false;
  for (let i = 0; i < takes.length; i += 1) {
    const { bucketKey, limit, hits, slotId } = takeAt(takes, i);
    let bucket = byKey === undefined ? lookThrough(ofTakes, i, bucketKey) : byKey.get(bucketKey);
    if (bucket === undefined) {
      const engine = TRAITS[limit.algorithm].engine;
      const stored = buckets.read(bucketKey);
      const state = stored ?? engine.fresh(limit, nowUs);
      bucket = {
        bucketKey,
        first: i,
        engine,
        limit,
        expiryLimit: undefined,
        hits: 0,
        newSlots: undefined,
        charged: 0,
        stored,
        state,
        isChanged: false,
        resetAfterUs: undefined,
      };
      byKey?.set(bucketKey, bucket);
    }
    if (limit.requestsPerUnit < bucket.limit.requestsPerUnit) bucket.limit = limit;
    if (isSlower(limit, bucket.expiryLimit)) bucket.expiryLimit = limit;
    if (slotId !== undefined) hasSlots = true;
    else if (hits > 0) bucket.hits += hits;
    ofTakes[i] = bucket;
  }
  for (let i = 0; i < takes.length; i += 1) {
    const bucket = bucketAt(ofTakes, i);
    if (bucket.first === i) bucket.state = bucket.engine.advance(bucket.state, bucket.limit, nowUs);
  }
  if (hasSlots) countNewSlots(takes, ofTakes);
  return ofTakes;
}

/** Counts a slot for each id that has none yet, once even if several takes name it. */
function countNewSlots(takes: readonly Take[], ofTakes: readonly GroupBucket[]): void {
  for (let i = 0; i < takes.length; i += 1) {
    const { slotId, hits } = takeAt(takes, i);
    const bucket = bucketAt(ofTakes, i);
    if (slotId === undefined || hits <= 0 || holds(bucket, slotId) || bucket.newSlots?.has(slotId) === true) continue;
    bucket.newSlots ??= new Set();
    bucket.newSlots.add(slotId);
    bucket.hits += 1;
  }
}

function holds({ engine, state }: GroupBucket, slotId: string): boolean {
  return engine.holds?.(state, slotId) === true;
}

/** The bucket with this key among the first takes. */
function lookThrough(ofTakes: readonly GroupBucket[], takes: number, bucketKey: string): GroupBucket | undefined {
  for (let i = 0; i < takes; i += 1) if (ofTakes[i]?.bucketKey === bucketKey) return ofTakes[i];
  return undefined;
}

/** Whether a take fits. If an admission fits, adds its hits to those to charge. */
function fitTake(take: Take, bucket: GroupBucket): boolean {
  const needed = neededHits(take, bucket.hits);
  if (needed === 0 || (take.slotId !== undefined && holds(bucket, take.slotId))) return true;
  if (needed > bucket.engine.room(bucket.state, take.limit)) return false;
  if (take.overdraftMax === undefined && take.slotId === undefined) bucket.charged += take.hits;
  return true;
}

function isSlower(limit: BucketLimit, than: BucketLimit | undefined): boolean {
  return limit.requestsPerUnit > 0 && limit.requestsPerUnit < (than?.requestsPerUnit ?? Infinity);
}

/**
 * Charges admissions that fit, unless the request is over, then usage reports; then applies refunds. Each refund is applied by itself, because a
 * sum of refunds may be above 2^53, where it is not exact.
 */
function applyTakes({ takes, ofTakes, verdicts, overLimit }: ApplyTakesInput): void {
  let hasReports = false;
  let hasSlots = false;
  for (let i = 0; i < takes.length; i += 1) {
    const bucket = bucketAt(ofTakes, i);
    if (bucket.first === i && !overLimit) charge(bucket, bucket.charged);
    const { overdraftMax, slotId } = takeAt(takes, i);
    if (overdraftMax !== undefined) hasReports = true;
    if (slotId !== undefined) hasSlots = true;
  }
  if (hasSlots && !overLimit) chargeNewSlots({ takes, ofTakes, verdicts });
  if (hasReports) chargeReports({ takes, ofTakes, verdicts });
  for (let i = 0; i < takes.length; i += 1) {
    const { hits, overdraftMax, slotId } = takeAt(takes, i);
    if (hits < 0 && (overdraftMax !== undefined || !overLimit)) refund(bucketAt(ofTakes, i), -hits, slotId);
  }
}

interface ApplyTakesInput {
  readonly takes: readonly Take[];
  readonly ofTakes: readonly GroupBucket[];
  readonly verdicts: readonly OpenVerdict[];
  readonly overLimit: boolean;
}

/** Charges each report down to its own overdraft, and cuts off the rest. */
function chargeReports({ takes, ofTakes, verdicts }: Omit<ApplyTakesInput, 'overLimit'>): void {
  for (let i = 0; i < takes.length; i += 1) {
    const { hits, limit, overdraftMax } = takeAt(takes, i);
    if (overdraftMax === undefined) continue;
    const bucket = bucketAt(ofTakes, i);
    const charged = Math.min(hits, Math.max(0, bucket.engine.room(bucket.state, limit) + overdraftMax));
    charge(bucket, charged);
    const verdict = verdicts[i];
    if (verdict !== undefined && charged < hits) verdict.cut = hits - charged;
  }
}

/** Charges one slot for each id, even if several takes name it. */
function chargeNewSlots({ takes, ofTakes, verdicts }: Omit<ApplyTakesInput, 'overLimit'>): void {
  for (let i = 0; i < takes.length; i += 1) {
    const { hits, slotId } = takeAt(takes, i);
    const bucket = bucketAt(ofTakes, i);
    if (slotId === undefined || hits <= 0 || verdicts[i]?.fits !== true || holds(bucket, slotId)) continue;
    charge(bucket, 1, slotId);
  }
}

function charge(bucket: GroupBucket, hits: number, slotId?: string): void {
  if (hits <= 0) return;
  bucket.state = bucket.engine.charge(bucket.state, hits, slotId);
  bucket.isChanged = true;
}

/** A refund of an unused bucket changes nothing. */
function refund(bucket: GroupBucket, hits: number, slotId?: string): void {
  if (bucket.engine.isUnused(bucket.state)) return;
  const after = bucket.engine.refund(bucket.state, hits, slotId);
  if (after === bucket.state) return;
  bucket.state = after;
  bucket.isChanged = true;
}

/**
 * The only write of a denied or dry group: a state ahead of the clock, left by a clock that was set back since,
 * is moved to now. Otherwise it would hold its used hits until the clock has caught up. A peek does not write.
 */
function mustBeRetimed(bucket: GroupBucket, nowUs: number): boolean {
  return bucket.hits > 0 && bucket.stored !== undefined && bucket.engine.isAhead(bucket.stored, bucket.limit, nowUs);
}

/** Sets how long a changed bucket is kept. Without a limit that refills, the expiry stays as it was. */
function findExpiry(bucket: GroupBucket, nowUs: number): void {
  const { engine, state, stored, limit, expiryLimit } = bucket;
  if (expiryLimit === undefined && stored !== undefined) return;
  bucket.resetAfterUs = engine.resetAfterUs(state, expiryLimit ?? limit, nowUs);
}

function write({ bucketKey, engine, state, limit, expiryLimit, resetAfterUs }: GroupBucket, buckets: Buckets): void {
  if (engine.isUnused(state)) {
    buckets.write(bucketKey, undefined, undefined, undefined);
  } else if (resetAfterUs === undefined) {
    buckets.write(bucketKey, state, undefined, undefined);
  } else {
    const of = expiryLimit ?? limit;
    buckets.write(bucketKey, state, resetAfterUs + EXPIRY_MARGIN_US, forgetRank(engine.room(state, of), of.capacity, resetAfterUs));
  }
}

function describe(verdict: OpenVerdict, take: Take, bucket: GroupBucket, nowUs: number): void {
  const { engine, state, expiryLimit } = bucket;
  const room = engine.room(state, take.limit);
  verdict.remaining = Math.max(0, room);
  if (!verdict.fits) {
    verdict.retryAfterUs = retryAfterUs(take, bucket, nowUs);
    if (room < 0) verdict.debt = -room;
  }
  // In most cases already computed for the expiry.
  const known = expiryLimit === take.limit ? bucket.resetAfterUs : undefined;
  verdict.resetAfterUs = known ?? engine.resetAfterUs(state, take.limit, nowUs);
}

/** A usage report is already charged, so it waits for one hit. */
function retryAfterUs(take: Take, bucket: GroupBucket, nowUs: number): number {
  const hits = take.overdraftMax === undefined ? neededHits(take, bucket.hits) : 1;
  if (hits > take.limit.capacity) return NEVER;
  return bucket.engine.retryAfterUs(bucket.state, take.limit, hits, nowUs);
}

function takeAt(takes: readonly Take[], i: number): Take {
  const take = takes[i];
  if (take === undefined) throw new Error('fewer takes than the group has');
  return take;
}

function bucketAt(ofTakes: readonly GroupBucket[], i: number): GroupBucket {
  const bucket = ofTakes[i];
  if (bucket === undefined) throw new Error('gatherBuckets found no bucket for a take');
  return bucket;
}
