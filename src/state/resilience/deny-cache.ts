/** A store with a deny cache: a request that cannot fit before a known time is denied without asking again. */

import { NEVER } from '../../domain/algorithm/engine';
import { isOutside, windowAt } from '../../domain/algorithm/window';
import { TRAITS } from '../../domain/algorithm/algorithms';
import {
  hasUsageReport,
  isUsageReport,
  neededHits,
  type BucketLimit,
  type Group,
  type GroupVerdict,
  type OpenVerdict,
  type Adjustment,
  type Take,
  type Verdict,
} from '../../domain/bucket/take';
import { markDenials } from '../../domain/decide/denial-rule';
import { WINDOW_US_MAX } from '../../domain/descriptor/unit';
import type { GroupOutcome, AdjustOutcome, Store, TakeOptions } from '../store/port/store';
import { RankedLruMap } from '../../lib/ranked-lru';
import type { UsageSnapshot } from './usage-snapshot';
import { US_PER_MS } from '../../lib/time-units';

export interface DenyCacheOptions {
  /** A monotonic clock, in milliseconds. */
  readonly nowMs: () => number;
  /** Most buckets with a cached denial; beyond it the oldest is dropped. */
  readonly bucketsMax: number;
  /** Provides the remaining hits and reset times of takes without a cached denial. */
  readonly lastKnown: Pick<UsageSnapshot, 'remaining' | 'resetAfterUs'>;
  /** Called for each group denied from the cache. */
  readonly onDenied: () => void;
}

/** Upper bound on how long a cached denial can miss a refund or a raised limit on another instance. */
const REMEMBERED_US_MAX = 1_000_000;

/** This number of hits, or more, did not fit the bucket under that limit. */
interface Denial {
  readonly limit: BucketLimit;
  readonly hits: number;
  readonly verdict: Verdict;
  /** Time of the call to the store, by this process's clock. The store's durations start later, so they also end later. */
  readonly sentUs: number;
  readonly untilUs: number;
  /** Time of the decision, by the store's clock. */
  readonly nowUs: number;
  /** Denials of other classes of a reserve, whose limits differ in their capacity alone; at most as many as classes. Absent: there are none. */
  readonly others?: readonly Denial[];
}

/** Classes of a reserve, and requests without one. */
const OTHERS_MAX = 16;

/**
 * Hits only come back with time (except slots of requests in flight, which are never cached). So until the retry time of a denial, the
 * same hits or more cannot fit the bucket under the same limit, whatever other callers do. Refunds, hits given back, larger limits and data loss in
 * the store make room sooner: for changes by this instance the bucket's denial is dropped at once, and `clear` drops all.
 *
 * Only an enforced take denies from the cache. Shadow and dry groups, and checks of nothing, always go to
 * the store. Denials of a fallback are not the store's, so this layer must be below the fallback.
 */
export class DenyCacheStore implements Store {
  /** By bucket key, oldest first. */
  private readonly denials = new RankedLruMap<Denial>();
  /** Counts changes that made room. A denial that was requested before a change may be obsolete. */
  private changes = 0;
  /** By bucket key, during calls: the number of the last change. */
  private readonly changedAt = new Map<string, number>();
  private allChangedAt = 0;
  private asking = 0;

  constructor(
    private readonly store: Store,
    private readonly options: DenyCacheOptions,
  ) {}

  take(groups: readonly Group[], options?: TakeOptions): Promise<readonly GroupOutcome[]> {
    const sentUs = this.clockUs();
    if (this.denials.size === 0) return this.ask(groups, sentUs, options);
    const denied = groups.map((group) => this.denyOrForget(group, sentUs));
    const known = denied.filter((verdict) => verdict !== undefined);
    if (known.length === groups.length) return Promise.resolve(known);
    if (known.length === 0) return this.ask(groups, sentUs, options);
    return this.askOthers({ groups, denied, sentUs, options });
  }

  async adjust(adjustments: readonly Adjustment[], options?: TakeOptions): Promise<readonly AdjustOutcome[]> {
    try {
      return await this.store.adjust(adjustments, options);
    } finally {
      this.forget(adjustments);
    }
  }

  /** Drops the denials of buckets that got, or may have got, hits back. */
  forget(changed: readonly Pick<Adjustment, 'bucketKey'>[]): void {
    for (const { bucketKey } of changed) this.change(bucketKey);
  }

  /** Drops all denials, because the store may have lost data. */
  clear(): void {
    this.denials.clear();
    this.changedAt.clear();
    this.changes += 1;
    this.allChangedAt = this.changes;
  }

  close(): Promise<void> {
    this.clear();
    return this.store.close();
  }

  private async askOthers({ groups, denied, sentUs, options }: AskOthersInput): Promise<readonly GroupOutcome[]> {
    const outcomes = await this.ask(
      groups.filter((_, i) => denied[i] === undefined),
      sentUs,
      options,
    );
    const answers = outcomes.values();
    return denied.flatMap((verdict) => verdict ?? answers.next().value ?? []);
  }

  /** Not async: every call passes here, and promises are its main garbage. */
  private ask(groups: readonly Group[], sentUs: number, options: TakeOptions | undefined): Promise<readonly GroupOutcome[]> {
    const { changes } = this;
    this.asking += 1;
    return this.store.take(groups, options).then(
      (outcomes) => {
        for (let i = 0; i < outcomes.length; i += 1) {
          const outcome = outcomes[i];
          const group = groups[i];
          if (group !== undefined && outcome !== undefined && 'verdicts' in outcome && outcome.overLimit)
            this.remember({ group, outcome, sentUs, changes });
        }
        this.recordChanges(groups);
        return outcomes;
      },
      (error: unknown) => {
        this.recordChanges(groups);
        throw error;
      },
    );
  }

  /** Records the refunds and larger limits of a finished call, which have, or may have, made room. */
  private recordChanges(groups: readonly Group[]): void {
    this.asking -= 1;
    // Denials from before the change, and from calls during it, are already cached at this point.
    for (const { takes } of groups)
      for (const take of takes) if (take.hits < 0 || (this.denials.size > 0 && this.mayMakeRoom(take))) this.change(take.bucketKey);
    if (this.asking === 0 && this.changedAt.size > 0) this.changedAt.clear();
  }

  /** The cached denial of the group. Without one, drops the denials of buckets in which the group may make room. */
  private denyOrForget(group: Group, clockUs: number): GroupVerdict | undefined {
    if (!group.takes.some(({ bucketKey }) => this.denials.has(bucketKey))) return undefined;
    const buckets = bucketsOf(group);
    const known = group.takes.map((take) => this.denialOf(take, hitsOn(take, buckets), clockUs));
    const first = known.find((denial) => denial !== undefined);
    // A usage report is charged whatever the verdict, so it must reach the store.
    if (first === undefined || group.shadow || group.dry === true || hasUsageReport(group)) {
      for (const take of group.takes) if (this.mayMakeRoom(take)) this.denials.delete(take.bucketKey);
      return undefined;
    }
    this.options.onDenied();
    const nowUs = first.nowUs + clockUs - first.sentUs;
    const verdicts = group.takes.map((take, i) => {
      const denial = known[i];
      const hits = hitsOn(take, buckets);
      return denial === undefined ? this.describe(take, { hits, nowUs }) : describeDenial(denial, { hits, clockUs });
    });
    markDenials(group, verdicts);
    return { overLimit: true, verdicts, nowUs, cached: true };
  }

  /** `needed`: hits that must be left for the take to fit. */
  private denialOf({ bucketKey, limit, mode }: Take, needed: number, clockUs: number): Denial | undefined {
    if (needed === 0 || mode !== 'enforced') return undefined;
    const denial = this.denials.get(bucketKey);
    if (denial === undefined) return undefined;
    if (denial.untilUs <= clockUs) {
      this.denials.delete(bucketKey);
      return undefined;
    }
    const own = isSameLimit(denial.limit, limit) ? denial : denial.others?.find((other) => isSameLimit(other.limit, limit));
    return own !== undefined && own.untilUs > clockUs && needed >= own.hits ? own : undefined;
  }

  /** A larger limit may refill the bucket faster. */
  private mayMakeRoom({ bucketKey, limit, hits }: Take): boolean {
    const denial = this.denials.get(bucketKey);
    return denial !== undefined && (hits < 0 || !isSameRate(denial.limit, limit));
  }

  private remember({ group, outcome: { verdicts, nowUs }, sentUs, changes }: RememberInput): void {
    if (group.shadow || group.dry === true || changes < this.allChangedAt) return;
    const buckets = bucketsOf(group);
    for (const [i, take] of group.takes.entries()) {
      const { bucketKey, limit, mode } = take;
      const verdict = verdicts[i];
      // Slots of requests in flight are released at any time, usually by other instances.
      if (TRAITS[limit.algorithm].holds === 'slots') continue;
      if (mode !== 'enforced' || verdict === undefined || verdict.fits) continue;
      if (changes < (this.changedAt.get(bucketKey) ?? 0) || buckets.get(bucketKey)?.hasOneLimit !== true) continue;
      const untilUs = sentUs + Math.min(REMEMBERED_US_MAX, holdsForUs(limit, verdict));
      // A usage report waits for one hit, whatever it has charged.
      const hits = isUsageReport(take) ? 1 : hitsOn(take, buckets);
      if (untilUs > this.clockUs()) this.keep(bucketKey, { limit, hits, verdict, sentUs, untilUs, nowUs });
    }
  }

  /** In whole microseconds: with fractions of a millisecond, rounding errors could extend a denial. */
  private clockUs(): number {
    return Math.round(this.options.nowMs() * US_PER_MS);
  }

  private keep(bucketKey: string, denial: Denial): void {
    this.denials.set(bucketKey, withOthers(denial, this.denials.get(bucketKey)));
    while (this.denials.size > this.options.bucketsMax) this.denials.deleteOldest();
  }

  private change(bucketKey: string): void {
    this.denials.delete(bucketKey);
    if (this.asking === 0) return;
    this.changes += 1;
    if (this.changedAt.size >= this.options.bucketsMax) {
      // Too many buckets to track: no call under way may cache its denial.
      this.changedAt.clear();
      this.allChangedAt = this.changes;
    }
    this.changedAt.set(bucketKey, this.changes);
  }

  /** Verdict of a take without a cached denial: it fits, unless its hits exceed the capacity. */
  private describe({ bucketKey, limit }: Take, { hits, nowUs }: DescribeInput): OpenVerdict {
    const { lastKnown } = this.options;
    const fits = hits <= limit.capacity;
    // A share that never refills has an infinite reset time, which is not a valid duration. A limit of 0 shows its window.
    const lastUs = limit.requestsPerUnit === 0 ? limit.windowUs : Math.min(WINDOW_US_MAX, Math.ceil(lastKnown.resetAfterUs(bucketKey)));
    const resetAfterUs = windowEndsAfterUs(limit, nowUs) ?? lastUs;
    return { fits, remaining: lastKnown.remaining(bucketKey, limit), retryAfterUs: fits ? 0 : NEVER, resetAfterUs };
  }
}

/** How long the store would repeat the denial. Hits beyond the capacity never fit, but in the next window the bucket is full and its reset time differs. */
function holdsForUs({ algorithm }: BucketLimit, { retryAfterUs, resetAfterUs }: Verdict): number {
  if (retryAfterUs !== NEVER) return retryAfterUs;
  return TRAITS[algorithm].restores === 'at-window-end' ? resetAfterUs : Infinity;
}

interface AskOthersInput {
  readonly groups: readonly Group[];
  readonly denied: readonly (GroupVerdict | undefined)[];
  readonly sentUs: number;
  readonly options: TakeOptions | undefined;
}

interface DescribeInput {
  /** Hits that must be left for the take to fit. */
  readonly hits: number;
  /** Approximate time of the store. */
  readonly nowUs: number;
}

interface RememberInput {
  readonly group: Group;
  readonly outcome: GroupVerdict;
  readonly sentUs: number;
  /** Value of `changes` at the time of the call. */
  readonly changes: number;
}

function describeDenial({ limit, hits: deniedHits, verdict, sentUs }: Denial, { hits, clockUs }: DescribeDenialInput): OpenVerdict {
  const left = (durationUs: number) => Math.max(0, durationUs - (clockUs - sentUs));
  const isFinal = hits > limit.capacity || verdict.retryAfterUs === NEVER;
  const retryAfterUs = isFinal ? NEVER : left(verdict.retryAfterUs + waitForMoreUs(limit, hits - deniedHits));
  const resetAfterUs = left(verdict.resetAfterUs);
  if (verdict.debt === undefined) return { fits: false, remaining: verdict.remaining, retryAfterUs, resetAfterUs };
  return { fits: false, remaining: verdict.remaining, retryAfterUs, resetAfterUs, debt: verdict.debt };
}

interface DescribeDenialInput {
  /** Hits of the group on the bucket, at least those that were denied. */
  readonly hits: number;
  readonly clockUs: number;
}

/** Additional wait for additional hits. A window frees all of them at once; for a log or a counter the time is unknown here. */
function waitForMoreUs({ algorithm, requestsPerUnit, windowUs }: BucketLimit, hits: number): number {
  return TRAITS[algorithm].restores === 'evenly' ? Math.ceil((hits * windowUs) / requestsPerUnit) : 0;
}

/** Fixed windows end independently of their use; undefined without a current window. */
function windowEndsAfterUs(limit: BucketLimit, nowUs: number): number | undefined {
  return TRAITS[limit.algorithm].restores === 'at-window-end' && !isOutside(limit, nowUs) ? windowAt(limit, nowUs).endsAfterUs : undefined;
}

function isSameLimit(a: BucketLimit, b: BucketLimit): boolean {
  return a === b || (isSameRate(a, b) && a.capacity === b.capacity);
}

/** The capacity does not decide how fast hits come back. */
function isSameRate(a: BucketLimit, b: BucketLimit): boolean {
  return a.requestsPerUnit === b.requestsPerUnit && a.windowUs === b.windowUs;
}

/** The denial with those of other classes that are still known. */
function withOthers(denial: Denial, known: Denial | undefined): Denial {
  if (known === undefined || !isSameRate(known.limit, denial.limit)) return denial;
  if (known.others === undefined && isSameLimit(known.limit, denial.limit)) return denial;
  const { others: before = [], ...last } = known;
  const others = [last, ...before].filter((other) => !isSameLimit(other.limit, denial.limit) && other.untilUs > denial.sentUs);
  return others.length === 0 ? denial : { others: others.slice(0, OTHERS_MAX), ...denial };
}

/** The part of a group on one bucket. */
interface RequestedBucket {
  /** Sum of its positive hits there. */
  hits: number;
  readonly limit: BucketLimit;
  /** Whether all its takes have the same limit: a smaller one beside it would slow the refill down and extend the wait. */
  hasOneLimit: boolean;
}

/** By bucket key. */
function bucketsOf({ takes }: Group): ReadonlyMap<string, RequestedBucket> {
  const buckets = new Map<string, RequestedBucket>();
  for (const { bucketKey, limit, hits } of takes) {
    const charged = Math.max(0, hits);
    const bucket = buckets.get(bucketKey);
    if (bucket === undefined) {
      buckets.set(bucketKey, { hits: charged, limit, hasOneLimit: true });
    } else {
      bucket.hits += charged;
      bucket.hasOneLimit &&= isSameLimit(bucket.limit, limit);
    }
  }
  return buckets;
}

/** Hits that must be left for the take to fit. */
function hitsOn(take: Take, buckets: ReadonlyMap<string, RequestedBucket>): number {
  return neededHits(take, buckets.get(take.bucketKey)?.hits ?? 0);
}
