/** A store with leases: requests for buckets that are asked for often are admitted from hits charged ahead, without asking the store. */

import {
  namesBucketTwice,
  type Adjustment,
  type BucketLimit,
  type Group,
  type GroupVerdict,
  type Take,
  type Verdict,
} from '../../domain/bucket/take';
import { LeasedBucket, mayBeLeased, type EndedLease, type StoreReport } from '../../domain/decide/lease';
import type { Leases } from '../../domain/rule/limit';
import type { AdjustOutcome, GroupOutcome, Store, TakeOptions } from '../store/port/store';
import { StoreError, storeErrorOf } from '../store/port/store-error';
import type { UsageSnapshot } from './usage-snapshot';

/** Charged hits are used, given back, lost to denial, or still in a lease. */
export type LeaseEvent = 'charged' | 'used' | 'givenBack' | 'lost';

export interface LeaseStoreOptions {
  /** For limits without `leases`. */
  readonly leases: Leases;
  /** Number of live instances. */
  readonly instances: () => number;
  /** A monotonic clock, in milliseconds. */
  readonly nowMs: () => number;
  readonly onHits: (event: LeaseEvent, hits: number) => void;
  /** Learns what the store says of buckets whose requests it no longer sees. */
  readonly lastKnown: Pick<UsageSnapshot, 'record'>;
}

/** Most buckets that are watched; while there are more, new ones are left to the store. */
export const LEASED_BUCKETS_MAX = 10_000;

/** Adjustments of one call: a run of the script stays below a millisecond. */
const ADJUSTMENTS_MAX = 100;

/** How long the return of hits may take, in milliseconds: longer than a call, because no request waits for it. */
const TIMEOUT_MS = 1_000;

/** A take of a group whose bucket is watched. */
interface Watched {
  readonly take: Take;
  readonly bucket: LeasedBucket;
  /** Index in the group. */
  readonly place: number;
  /** The window of the lease that its hits came from; undefined: the store decides it. */
  readonly windowEndUs: number | undefined;
}

/** A group that leases decide in part, or not at all, although it has takes with watched buckets. */
interface Asked {
  readonly group: Group;
  readonly watched: readonly Watched[];
}

interface Charge {
  readonly bucketKey: string;
  readonly bucket: LeasedBucket;
  readonly limit: BucketLimit;
  readonly hits: number;
}

/**
 * A group whose takes all have hits in leases is admitted here. A group with other takes too first takes from its leases; then the
 * store decides the others, and if it denies them, the hits go back into the leases.
 *
 * Charges ahead are ordinary takes, sent together with the call that shows their need, and no request waits for them. A charge with a lost reply
 * is never used, and hits on their way back are never sent again: so nothing is granted that was not charged.
 */
export class LeaseStore implements Store {
  private buckets = new Map<string, LeasedBucket>();
  private readonly charges = new Set<Promise<void>>();

  constructor(
    private readonly store: Store,
    private readonly options: LeaseStoreOptions,
  ) {}

  /** Not async: every call passes here, and promises are its main garbage. */
  take(groups: readonly Group[], options?: TakeOptions): Promise<readonly GroupOutcome[]> {
    const isWatched = groups.some((group) => this.isWatched(group));
    return isWatched ? this.takeWatched(groups, options) : this.store.take(groups, options);
  }

  adjust(adjustments: readonly Adjustment[], options?: TakeOptions): Promise<readonly AdjustOutcome[]> {
    return this.store.adjust(adjustments, options);
  }

  /** Gives back the hits of leases that are over. Called regularly. */
  async sweep(): Promise<void> {
    const nowMs = this.options.nowMs();
    await this.giveBack(this.endLeases(nowMs, { all: false }));
    for (const [bucketKey, bucket] of this.buckets) if (bucket.isIdle(nowMs)) this.buckets.delete(bucketKey);
  }

  /** Loses all leases, because the store may have lost their charges: hits given back would be those of others. */
  clear(): void {
    const lost = this.endLeases(this.options.nowMs(), { all: true });
    for (const { hits } of lost) this.options.onHits('lost', -hits);
    this.buckets = new Map();
  }

  /** Loses the leases of buckets that were reset. */
  forget(bucketKeys: readonly string[]): void {
    for (const bucketKey of bucketKeys) {
      const ended = this.buckets.get(bucketKey)?.end(this.options.nowMs(), { all: true });
      if (ended !== undefined) this.options.onHits('lost', ended.hits);
      this.buckets.delete(bucketKey);
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.charges);
    await this.giveBack(this.endLeases(this.options.nowMs(), { all: true }));
    await this.store.close();
  }

  private isWatched(group: Group): boolean {
    const { takes, shadow, dry } = group;
    if (shadow || dry === true || !takes.some((take) => mayBeLeased(take, this.options))) return false;
    return takes.length === 1 || !namesBucketTwice(group);
  }

  private takeWatched(groups: readonly Group[], options: TakeOptions | undefined): Promise<readonly GroupOutcome[]> {
    const nowMs = this.options.nowMs();
    const asked: Group[] = [];
    const answers: (GroupVerdict | Asked)[] = [];
    const seen: Watched[] = [];
    for (const group of groups) {
      const watched = this.isWatched(group) ? this.watch(group, { nowMs, isSampled: options?.trace?.of(group) !== undefined }) : [];
      const leased = watched.filter(({ windowEndUs }) => windowEndUs !== undefined);
      seen.push(...watched);
      const isWhole = leased.length > 0 && leased.length === group.takes.length;
      answers.push(isWhole ? this.admit(leased, nowMs) : { group, watched });
      if (!isWhole) asked.push(leased.length === 0 ? group : withoutTakes(group, leased));
    }
    const answering = asked.length === 0 ? Promise.resolve([]) : this.store.take(asked, options);
    this.chargeAhead(seen, nowMs);
    return answering.then(
      (outcomes) => this.merge(answers, outcomes, nowMs),
      (error: unknown) => {
        const failure = storeErrorOf(error);
        const failed = asked.map(() => failure);
        const merged = this.merge(answers, failed, nowMs);
        if (failed.length === groups.length) throw failure;
        return merged;
      },
    );
  }

  /** The outcomes of all groups, in their order. */
  private merge(answers: readonly (GroupVerdict | Asked)[], outcomes: readonly GroupOutcome[], sentMs: number): readonly GroupOutcome[] {
    const own = outcomes.values();
    return answers.map((answer) => ('verdicts' in answer ? answer : this.settle(answer, own.next().value ?? invalidReply(), sentMs)));
  }

  /** Takes what leases have for the group. */
  private watch(group: Group, { nowMs, isSampled }: { readonly nowMs: number; readonly isSampled: boolean }): readonly Watched[] {
    const watched: Watched[] = [];
    for (const [place, take] of group.takes.entries()) {
      const bucket = mayBeLeased(take, this.options) ? this.bucketOf(take, nowMs) : undefined;
      if (bucket === undefined) continue;
      const windowEndUs = bucket.use(take.hits, nowMs) ? bucket.windowEndUs : undefined;
      watched.push({ take, bucket, place, windowEndUs });
    }
    const isWhole = watched.length === group.takes.length && watched.every(({ windowEndUs }) => windowEndUs !== undefined);
    // A trace follows its group through the store, which must then see it whole.
    if (isWhole || !isSampled) return watched;
    this.putBack(watched);
    return watched.map((each) => ({ ...each, windowEndUs: undefined }));
  }

  /** Undefined: too many are watched. */
  private bucketOf({ bucketKey, limit }: Take, nowMs: number): LeasedBucket | undefined {
    const known = this.buckets.get(bucketKey);
    if (known?.isUnder(limit) === true) return known;
    if (known === undefined && this.buckets.size >= LEASED_BUCKETS_MAX) return undefined;
    const ended = known?.end(nowMs, { all: true });
    if (ended !== undefined) void this.giveBack([toAdjustment(bucketKey, ended)]);
    const bucket = new LeasedBucket(limit, nowMs);
    this.buckets.set(bucketKey, bucket);
    return bucket;
  }

  private admit(leased: readonly Watched[], nowMs: number): GroupVerdict {
    let nowUs = 0;
    const verdicts = leased.map(({ bucket, take: { hits } }) => {
      this.options.onHits('used', hits);
      const shown = bucket.show(nowMs);
      nowUs = Math.max(nowUs, shown.nowUs);
      return shown.verdict;
    });
    return { overLimit: false, verdicts, nowUs, leased: true };
  }

  /** Learns from the outcome of the takes that the store decided, and adds those that leases did. */
  private settle({ group, watched }: Asked, outcome: GroupOutcome, sentMs: number): GroupOutcome {
    const leased = watched.filter(({ windowEndUs }) => windowEndUs !== undefined);
    if (!('verdicts' in outcome)) {
      for (const { bucket } of watched) bucket.hasFailed = true;
      this.putBack(leased);
      return outcome;
    }
    if (outcome.overLimit) this.putBack(leased);
    else for (const { take } of leased) this.options.onHits('used', take.hits);
    const verdicts: Verdict[] = [];
    const own = outcome.verdicts.values();
    const nowMs = this.options.nowMs();
    for (const place of group.takes.keys()) {
      const each = watched.find((one) => one.place === place);
      const isLeased = each?.windowEndUs !== undefined;
      const verdict = isLeased ? each.bucket.show(nowMs).verdict : own.next().value;
      const take = group.takes[place];
      if (verdict === undefined || take === undefined) return invalidReply();
      verdicts.push(verdict);
      if (leased.length > 0 && !isLeased && outcome.cached !== true) this.options.lastKnown.record(take.bucketKey, take.limit, verdict);
      if (each === undefined || each.windowEndUs !== undefined || outcome.cached === true) continue;
      this.learn(each.bucket, { limit: each.take.limit, remaining: verdict.remaining, nowUs: outcome.nowUs, sentMs });
    }
    // The remainder of a leased take counts its lease, so it is not what the store has.
    return leased.length === 0 ? outcome : { ...outcome, verdicts, leased: true };
  }

  private learn(bucket: LeasedBucket, report: StoreReport): void {
    const ended = bucket.learn(report);
    if (ended > 0) this.options.onHits('lost', ended);
  }

  private putBack(watched: readonly Watched[]): void {
    for (const { take, bucket, windowEndUs } of watched) {
      if (windowEndUs === undefined) continue;
      const isKept = this.buckets.get(take.bucketKey) === bucket && bucket.putBack(take.hits, windowEndUs);
      if (!isKept) this.options.onHits('lost', take.hits);
    }
  }

  /** Charges the next hits of the leases that need some. */
  private chargeAhead(watched: readonly Watched[], nowMs: number): void {
    const instances = this.options.instances();
    const charges: Charge[] = [];
    for (const { take, bucket } of watched) {
      const { bucketKey, limit } = take;
      const hits = bucket.wanted(nowMs, { instances });
      if (hits === 0) continue;
      bucket.isCharging = true;
      charges.push({ bucketKey, bucket, limit, hits });
    }
    if (charges.length === 0) return;
    const charging = this.charge(charges, nowMs).finally(() => this.charges.delete(charging));
    this.charges.add(charging);
  }

  private async charge(charges: readonly Charge[], sentMs: number): Promise<void> {
    const call = this.store.take(charges.map(toGroup));
    const outcomes = await call.catch((error: unknown) => charges.map(() => storeErrorOf(error)));
    for (const [i, charge] of charges.entries()) {
      charge.bucket.isCharging = false;
      this.receive(charge, outcomes[i], sentMs);
    }
  }

  /** Adds charged hits to their lease. Hits that may have been charged are never used. */
  private receive({ bucketKey, bucket, hits, limit }: Charge, outcome: GroupOutcome | undefined, sentMs: number): void {
    const { onHits } = this.options;
    const verdict = outcome !== undefined && 'verdicts' in outcome ? outcome.verdicts[0] : undefined;
    if (outcome === undefined || !('verdicts' in outcome) || verdict === undefined) {
      bucket.hasFailed = true;
      if (!(outcome instanceof StoreError) || !outcome.mayHaveRun) return;
      onHits('charged', hits);
      onHits('lost', hits);
      return;
    }
    if (outcome.cached === true) return;
    const report = { limit, remaining: verdict.remaining, nowUs: outcome.nowUs, sentMs };
    this.learn(bucket, report);
    this.options.lastKnown.record(bucketKey, limit, verdict);
    if (outcome.overLimit) return;
    onHits('charged', hits);
    const isAdded = this.buckets.get(bucketKey) === bucket && bucket.add(hits, report);
    if (!isAdded) onHits('lost', hits);
  }

  /** The hits to give back. Hits whose window is over are lost. */
  private endLeases(nowMs: number, options: { readonly all: boolean }): Adjustment[] {
    const adjustments: Adjustment[] = [];
    for (const [bucketKey, bucket] of this.buckets) {
      const ended = bucket.end(nowMs, options);
      if (ended?.isGone === true) this.options.onHits('lost', ended.hits);
      else if (ended !== undefined) adjustments.push(toAdjustment(bucketKey, ended));
    }
    return adjustments;
  }

  private async giveBack(adjustments: readonly Adjustment[]): Promise<void> {
    const calls: Promise<void>[] = [];
    for (let at = 0; at < adjustments.length; at += ADJUSTMENTS_MAX)
      calls.push(this.giveBackOnce(adjustments.slice(at, at + ADJUSTMENTS_MAX)));
    await Promise.all(calls);
  }

  /** After a lost reply the hits are not sent again, because that could give back hits of others. */
  private async giveBackOnce(adjustments: readonly Adjustment[]): Promise<void> {
    const applied = await this.store.adjust(adjustments, { timeoutMs: TIMEOUT_MS }).catch(() => []);
    for (const [i, { hits }] of adjustments.entries()) {
      const outcome = applied[i];
      const given = typeof outcome === 'number' ? Math.max(0, outcome) : 0;
      if (given > 0) this.options.onHits('givenBack', given);
      if (given < -hits) this.options.onHits('lost', -hits - given);
    }
  }
}

function invalidReply(): StoreError {
  return new StoreError('the store returned an invalid reply', 'script');
}

function toGroup({ bucketKey, limit, hits }: Charge): Group {
  return { takes: [{ bucketKey, limit, hits, mode: 'enforced', descriptor: 0 }], quotaAlwaysFits: false, shadow: false };
}

function withoutTakes(group: Group, leased: readonly Watched[]): Group {
  const places = new Set(leased.map(({ place }) => place));
  return { ...group, takes: group.takes.filter((_, place) => !places.has(place)) };
}

function toAdjustment(bucketKey: string, { hits, limit, takenAtUs }: EndedLease): Adjustment {
  return { bucketKey, limit, hits: -hits, takenAtUs, usedBefore: 0 };
}
