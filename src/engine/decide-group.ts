/**
 * The decision on one group: which takes fit, whether the request is over its limits, and what is charged. Twin of
 * `lua/include/decide-group.lua`: with Redis the decision runs there, with the embedded store here.
 */

import { NEVER, type BucketLimit, type Group, type GroupVerdict, type Take, type Verdict } from '../bucket/take';
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

export interface GroupDecision extends GroupVerdict {
  /** Empty if the group is denied or dry, but for buckets that are ahead of the clock. */
  readonly writes: readonly BucketWrite[];
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
  /** Sum of the positive hits of its takes. */
  hits: number;
  /** Of them, those that fit. */
  charged: number;
  refund: number;
  readonly stored: BucketState | undefined;
  state: BucketState;
}

/**
 * Decides a group on the states that `read` gives.
 *
 * - All positive hits on one bucket are one sum; it fits a take if it fits that take's own limit.
 * - The request is over if an enforced take does not fit, or if there are quota descriptors and each has a take that
 *   does not fit. Then nothing is charged and no refund applied.
 * - Else every take that fits is charged, one that does not (shadow, quota) is not; then refunds apply.
 * - Of a dry group all of that is said, and nothing done: remaining is what is there.
 */
export function decideGroup({ group, read, nowUs }: DecideGroupInput): GroupDecision {
  const { takes } = group;
  const ofTakes = gatherBuckets({ group, read, nowUs });
  const fits = new Array<boolean>(takes.length);
  for (let i = 0; i < takes.length; i += 1) fits[i] = fitTake(takeAt(takes, i), bucketAt(ofTakes, i));
  const overLimit = !group.shadow && isOverLimit(group, fits);
  let writes: BucketWrite[] | undefined;
  for (let i = 0; i < takes.length; i += 1) {
    const bucket = bucketAt(ofTakes, i);
    if (bucket.first !== i) continue;
    const changed = overLimit || group.dry === true ? false : applyTakes(bucket);
    if (!changed && !mustBeRetimed(bucket, nowUs)) continue;
    const write = toWrite(bucket, nowUs);
    if (writes === undefined) writes = [write];
    else writes.push(write);
  }
  const verdicts = new Array<Verdict>(takes.length);
  for (let i = 0; i < takes.length; i += 1) {
    verdicts[i] = describe({ take: takeAt(takes, i), bucket: bucketAt(ofTakes, i), fits: fits[i] === true, nowUs });
  }
  return { overLimit, verdicts, nowUs, writes: writes ?? NO_WRITES };
}

const NO_WRITES: readonly BucketWrite[] = [];

interface DecideGroupInput {
  readonly group: Group;
  readonly read: (bucketKey: string) => BucketState | undefined;
  readonly nowUs: number;
}

/** Takes of a group that are looked through for those on one bucket; for more there is a Map. */
const LOOKED_THROUGH_MAX = 8;

/** The bucket of each take, in their order. */
function gatherBuckets({ group, read, nowUs }: DecideGroupInput): readonly GroupBucket[] {
  const { takes } = group;
  const ofTakes = new Array<GroupBucket>(takes.length);
  const byKey = takes.length > LOOKED_THROUGH_MAX ? new Map<string, GroupBucket>() : undefined;
  for (let i = 0; i < takes.length; i += 1) {
    const { bucketKey, limit, hits } = takeAt(takes, i);
    let bucket = byKey === undefined ? lookThrough(ofTakes, i, bucketKey) : byKey.get(bucketKey);
    if (bucket === undefined) {
      const engine = ENGINES[limit.algorithm];
      const stored = read(bucketKey);
      const state = stored ?? engine.fresh(limit, nowUs);
      bucket = { bucketKey, first: i, engine, limit, expiryLimit: undefined, hits: 0, charged: 0, refund: 0, stored, state };
      byKey?.set(bucketKey, bucket);
    }
    if (limit.requestsPerUnit < bucket.limit.requestsPerUnit) bucket.limit = limit;
    if (isSlower(limit, bucket.expiryLimit)) bucket.expiryLimit = limit;
    if (hits > 0) bucket.hits += hits;
    else bucket.refund -= hits;
    ofTakes[i] = bucket;
  }
  for (let i = 0; i < takes.length; i += 1) {
    const bucket = bucketAt(ofTakes, i);
    if (bucket.first === i) bucket.state = bucket.engine.advance(bucket.state, bucket.limit, nowUs);
  }
  return ofTakes;
}

/** The bucket of the first so many takes that has this key. */
function lookThrough(ofTakes: readonly GroupBucket[], takes: number, bucketKey: string): GroupBucket | undefined {
  for (let i = 0; i < takes; i += 1) if (ofTakes[i]?.bucketKey === bucketKey) return ofTakes[i];
  return undefined;
}

/** Whether a take fits; its hits are then those to be charged. */
function fitTake({ hits, limit }: Take, bucket: GroupBucket): boolean {
  if (hits <= 0) return true;
  if (bucket.hits > bucket.engine.room(bucket.state, limit)) return false;
  bucket.charged += hits;
  return true;
}

function isSlower(limit: BucketLimit, than: BucketLimit | undefined): boolean {
  return limit.requestsPerUnit > 0 && limit.requestsPerUnit < (than?.requestsPerUnit ?? Infinity);
}

/** Whether a group of which these takes fit is over its limits, `SHADOW_MODE` apart. */
export function isOverLimit(group: Group, fits: readonly boolean[]): boolean {
  let quotaFits: Map<number, boolean> | undefined;
  for (let i = 0; i < group.takes.length; i += 1) {
    const take = group.takes[i];
    const takeFits = fits[i] === true;
    if (take?.mode === 'enforced' && !takeFits) return true;
    if (take?.mode !== 'quota') continue;
    quotaFits ??= new Map();
    quotaFits.set(take.descriptor, (quotaFits.get(take.descriptor) ?? true) && takeFits);
  }
  return quotaFits !== undefined && !group.quotaAlwaysFits && ![...quotaFits.values()].includes(true);
}

/** Charges what fits, applies refunds; whether that changed the bucket. */
function applyTakes(bucket: GroupBucket): boolean {
  const { engine, charged } = bucket;
  // A refund to a bucket that nobody has used changes nothing.
  const refund = engine.isUnused(bucket.state) && charged === 0 ? 0 : bucket.refund;
  if (charged > 0) bucket.state = engine.charge(bucket.state, charged);
  if (refund > 0) bucket.state = engine.refund(bucket.state, refund);
  return charged > 0 || refund > 0;
}

/**
 * The one write that a denied or dry group makes: a state from after now, left there by a clock that has since stepped back,
 * is brought to now, or it would hold its used hits until the clock has caught up. A peek writes nothing even so.
 */
function mustBeRetimed(bucket: GroupBucket, nowUs: number): boolean {
  return bucket.hits > 0 && bucket.stored !== undefined && bucket.engine.isAhead(bucket.stored, bucket.limit, nowUs);
}

function toWrite({ bucketKey, engine, state, stored, limit, expiryLimit }: GroupBucket, nowUs: number): BucketWrite {
  if (engine.isUnused(state)) return { bucketKey };
  if (expiryLimit === undefined && stored !== undefined) return { bucketKey, state };
  const resetAfterUs = engine.resetAfterUs(state, expiryLimit ?? limit, nowUs);
  return { bucketKey, state, expiresAfterUs: resetAfterUs + EXPIRY_MARGIN_US };
}

function describe({ take, bucket, fits, nowUs }: DescribeInput): Verdict {
  const { engine, state } = bucket;
  return {
    fits,
    remaining: Math.max(0, engine.room(state, take.limit)),
    retryAfterUs: fits ? 0 : retryAfterUs({ take, bucket, nowUs }),
    resetAfterUs: engine.resetAfterUs(state, take.limit, nowUs),
  };
}

interface DescribeInput {
  readonly take: Take;
  readonly bucket: GroupBucket;
  readonly fits: boolean;
  readonly nowUs: number;
}

function retryAfterUs({ take, bucket, nowUs }: Omit<DescribeInput, 'fits'>): number {
  if (bucket.hits > take.limit.capacity) return NEVER;
  return bucket.engine.retryAfterUs(bucket.state, take.limit, bucket.hits, nowUs);
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
