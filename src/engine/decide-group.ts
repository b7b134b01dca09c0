/**
 * The decision on one group: which takes fit, whether the request is over its limits, and what is charged. Twin of
 * `lua/include/decide-group.lua`: with Redis the decision runs there, with the embedded store here.
 */

import { NEVER, neededHits, type BucketLimit, type Group, type GroupVerdict, type Take, type Verdict } from '../bucket/take';
import type { Engine } from './engine';
import { ENGINES, type BucketState } from './engines';

/** How long a bucket is kept after it says nothing any more: covers a small step back of the clock. */
export const EXPIRY_MARGIN_US = 2_000_000;

/** One bucket after a group or a settlement, to be stored. */
export interface BucketWrite {
  readonly bucketKey: string;
  /** Absent: the bucket says no more than a fresh one and is to be forgotten. */
  readonly state?: BucketState;
  /** Absent: the bucket was there, and nothing says how long from now: it is kept as long as it was to be. */
  readonly expiresAfterUs?: number;
}

/** Where the buckets of a group are kept. */
export interface Buckets {
  read(bucketKey: string): BucketState | undefined;
  /**
   * Keeps what is left of one, or forgets it, as a `BucketWrite` says; part by part, since an object for each decision is much. Of a
   * group that is denied or dry only buckets that are ahead of the clock are written.
   */
  write(bucketKey: string, state: BucketState | undefined, expiresAfterUs: number | undefined): void;
}

/** One bucket of the group: all takes on it are decided as one. */
interface GroupBucket {
  readonly bucketKey: string;
  /** Place of its first take in the group. */
  readonly first: number;
  readonly engine: Engine<BucketState>;
  /** The smallest limit of its takes: the one at which its state moves on. */
  limit: BucketLimit;
  /** The smallest that refills at all: when the bucket is full under it, it is full under each. */
  expiryLimit: BucketLimit | undefined;
  /** Sum of the positive hits of its takes; of takes with a slot's id, of each that has none yet once. */
  hits: number;
  /** Ids of slots that takes of the group ask for, and that are not taken yet. Undefined: none. */
  newSlots: Set<string> | undefined;
  /** Of them, those of admissions that fit. */
  charged: number;
  /** Of admissions. */
  refund: number;
  readonly stored: BucketState | undefined;
  state: BucketState;
  isChanged: boolean;
  /** When it is full again, if it is to be kept so long. */
  resetAfterUs: number | undefined;
}

/**
 * Decides a group on the buckets as they are read, and writes those that it changes.
 *
 * - All positive hits on one bucket are one sum; it fits a take if it fits that take's own limit. A check fits while
 *   one hit is left.
 * - The request is over if an enforced take does not fit, or if there are quota descriptors and each has a take that
 *   does not fit. Then no admission is charged and no refund of one applied.
 * - Else every admission that fits is charged, one that does not (shadow, quota) is not; then refunds apply.
 * - Usage reports are charged, and their refunds applied, in either case, after the admissions. So are slots released.
 * - Of takes with a slot's id each id is one hit, and none if it has its slot: then it fits.
 * - A dry group is judged likewise and changes nothing: remaining is what is there.
 */
export function decideGroup(input: DecideGroupInput): GroupVerdict {
  const { group, buckets, nowUs } = input;
  const { takes } = group;
  const ofTakes = gatherBuckets(input);
  const verdicts = new Array<OpenVerdict>(takes.length);
  for (let i = 0; i < takes.length; i += 1) {
    verdicts[i] = { fits: fitTake(takeAt(takes, i), bucketAt(ofTakes, i)), remaining: 0, retryAfterUs: 0, resetAfterUs: 0 };
  }
  const overLimit = !group.shadow && isOverLimit(group, verdicts);
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
  // At the very end: an error before has changed none.
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

/** One of which only `fits` is known until the group is decided. */
type OpenVerdict = { -readonly [Part in keyof Verdict]: Verdict[Part] };

/** Takes of a group that are looked through for those on one bucket; for more there is a Map. */
const LOOKED_THROUGH_MAX = 8;

/** The bucket of each take, in their order. */
function gatherBuckets({ group, buckets, nowUs }: DecideGroupInput): readonly GroupBucket[] {
  const { takes } = group;
  const ofTakes = new Array<GroupBucket>(takes.length);
  const byKey = takes.length > LOOKED_THROUGH_MAX ? new Map<string, GroupBucket>() : undefined;
  let hasSlots = false;
  for (let i = 0; i < takes.length; i += 1) {
    const { bucketKey, limit, hits, overdraftMax, slotId } = takeAt(takes, i);
    let bucket = byKey === undefined ? lookThrough(ofTakes, i, bucketKey) : byKey.get(bucketKey);
    if (bucket === undefined) {
      const engine = ENGINES[limit.algorithm];
      const stored = buckets.read(bucketKey);
      const state = stored ?? engine.fresh(limit, nowUs);
      bucket = { bucketKey, first: i, engine, limit, expiryLimit: undefined, hits: 0, newSlots: undefined, charged: 0, refund: 0, stored, state, isChanged: false, resetAfterUs: undefined };
      byKey?.set(bucketKey, bucket);
    }
    if (limit.requestsPerUnit < bucket.limit.requestsPerUnit) bucket.limit = limit;
    if (isSlower(limit, bucket.expiryLimit)) bucket.expiryLimit = limit;
    if (slotId !== undefined) hasSlots = true;
    else if (hits > 0) bucket.hits += hits;
    if (hits < 0 && overdraftMax === undefined) bucket.refund -= hits;
    ofTakes[i] = bucket;
  }
  for (let i = 0; i < takes.length; i += 1) {
    const bucket = bucketAt(ofTakes, i);
    if (bucket.first === i) bucket.state = bucket.engine.advance(bucket.state, bucket.limit, nowUs);
  }
  if (hasSlots) countNewSlots(takes, ofTakes);
  return ofTakes;
}

/** A request that has its slot already needs no other, and two takes of one request need one. */
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

/** The bucket of the first so many takes that has this key. */
function lookThrough(ofTakes: readonly GroupBucket[], takes: number, bucketKey: string): GroupBucket | undefined {
  for (let i = 0; i < takes; i += 1) if (ofTakes[i]?.bucketKey === bucketKey) return ofTakes[i];
  return undefined;
}

/** Whether a take fits; the hits of an admission are then those to be charged. */
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

/** Whether a group is over its limits, by which of its takes fit; `SHADOW_MODE` apart. */
export function isOverLimit(group: Group, verdicts: readonly Pick<Verdict, 'fits'>[]): boolean {
  let quotaFits: Map<number, boolean> | undefined;
  for (let i = 0; i < group.takes.length; i += 1) {
    const take = group.takes[i];
    const takeFits = verdicts[i]?.fits === true;
    if (take?.mode === 'enforced' && !takeFits) return true;
    if (take?.mode !== 'quota') continue;
    quotaFits ??= new Map();
    quotaFits.set(take.descriptor, (quotaFits.get(take.descriptor) ?? true) && takeFits);
  }
  return quotaFits !== undefined && !group.quotaAlwaysFits && ![...quotaFits.values()].includes(true);
}

/** Charges admissions that fit, unless the request is over; then usage reports; and applies refunds last, in the same order. */
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
    const bucket = bucketAt(ofTakes, i);
    if (bucket.first === i && !overLimit) refund(bucket, bucket.refund);
    const { hits, overdraftMax, slotId } = takeAt(takes, i);
    if (overdraftMax !== undefined) refund(bucket, -hits, slotId);
  }
}

interface ApplyTakesInput {
  readonly takes: readonly Take[];
  readonly ofTakes: readonly GroupBucket[];
  readonly verdicts: readonly OpenVerdict[];
  readonly overLimit: boolean;
}

/** Each down to its own overdraft; what lies beyond is cut off. */
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

/** One for each id, though several takes name it. */
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

/** A refund to a bucket that nobody has used changes nothing. */
function refund(bucket: GroupBucket, hits: number, slotId?: string): void {
  if (hits <= 0 || bucket.engine.isUnused(bucket.state)) return;
  const after = bucket.engine.refund(bucket.state, hits, slotId);
  if (after === bucket.state) return;
  bucket.state = after;
  bucket.isChanged = true;
}

/**
 * The one write that a denied or dry group makes: a state from after now, left there by a clock that has since stepped back,
 * is brought to now, or it would hold its used hits until the clock has caught up. A peek writes nothing even so.
 */
function mustBeRetimed(bucket: GroupBucket, nowUs: number): boolean {
  return bucket.hits > 0 && bucket.stored !== undefined && bucket.engine.isAhead(bucket.stored, bucket.limit, nowUs);
}

/** How long a changed bucket is to be kept. Without a limit that refills, it is as long as it was to be. */
function findExpiry(bucket: GroupBucket, nowUs: number): void {
  const { engine, state, stored, limit, expiryLimit } = bucket;
  if (expiryLimit === undefined && stored !== undefined) return;
  bucket.resetAfterUs = engine.resetAfterUs(state, expiryLimit ?? limit, nowUs);
}

function write({ bucketKey, engine, state, resetAfterUs }: GroupBucket, buckets: Buckets): void {
  if (engine.isUnused(state)) buckets.write(bucketKey, undefined, undefined);
  else buckets.write(bucketKey, state, resetAfterUs === undefined ? undefined : resetAfterUs + EXPIRY_MARGIN_US);
}

function describe(verdict: OpenVerdict, take: Take, bucket: GroupBucket, nowUs: number): void {
  const { engine, state, expiryLimit } = bucket;
  const room = engine.room(state, take.limit);
  verdict.remaining = Math.max(0, room);
  if (!verdict.fits) {
    verdict.retryAfterUs = retryAfterUs(take, bucket, nowUs);
    if (room < 0) verdict.debt = -room;
  }
  // Mostly known already: it is how long the bucket is to be kept.
  const known = expiryLimit === take.limit ? bucket.resetAfterUs : undefined;
  verdict.resetAfterUs = known ?? engine.resetAfterUs(state, take.limit, nowUs);
}

/** What a usage report has charged is charged: what it waits for is the next hit. */
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
  if (bucket === undefined) throw new Error('a take without its bucket: gatherBuckets missed it');
  return bucket;
}
