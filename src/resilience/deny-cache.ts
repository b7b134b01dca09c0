/** A store that remembers denials: what can't fit before a known time is denied without asking again. */

import { hasUsageReport, isOutside, isUsageReport, NEVER, neededHits, type BucketLimit, type Group, type GroupVerdict, type Settlement, type Take, type Verdict } from '../bucket/take';
import { windowAt } from '../bucket/window';
import { WINDOW_US_MAX } from '../rule/unit';
import type { GroupOutcome, SettleOutcome, Store, TakeOptions } from '../store/store';
import { UseOrderMap } from '../store/use-order-map';
import type { LastKnown } from './last-known';

export interface DenyCacheOptions {
  /** A clock that is never set, in milliseconds. */
  readonly nowMs: () => number;
  /** Most buckets whose denial is remembered; beyond it the oldest is forgotten. */
  readonly bucketsMax: number;
  /** What is shown of the takes that nothing is remembered of. */
  readonly lastKnown: Pick<LastKnown, 'remaining' | 'resetAfterUs'>;
  /** Told of each group that was denied here. */
  readonly onDenied: () => void;
}

/** An instance elsewhere may have given hits back, or have a larger limit: so long it may go unnoticed here. */
const REMEMBERED_US_MAX = 1_000_000;

const US_PER_MS = 1_000;

/** So many hits, or more, did not fit a bucket under that limit. */
interface Denial {
  readonly limit: BucketLimit;
  readonly hits: number;
  readonly verdict: Verdict;
  /** When the store was about to be asked, by this process's clock: its durations run from later on, so they are over later. */
  readonly askedUs: number;
  readonly untilUs: number;
  /** When it decided, by its own. */
  readonly nowUs: number;
}

/**
 * Hits come back with time alone (but slots of requests in flight, of which no denial is remembered), so until the retry time of a denial the same hits, or more, can't fit the same bucket under
 * the same limit, whoever else asks. What makes room sooner is a refund, hits given back, a larger limit and a store that
 * forgets: a bucket that one of these comes to from here is forgotten at once, and all of them with `clear`.
 *
 * An enforced take alone denies a request by what is remembered; a request that is shown as shadowed, dry, or asks for nothing
 * is always asked for. The denial of a fallback is none of the store's: this is to lie below it.
 */
export class DenyCacheStore implements Store {
  /** By bucket key, the oldest first. */
  private readonly denials = new UseOrderMap<Denial>();
  /** Counts what made room. A denial that the store was asked for before may be from before it. */
  private changes = 0;
  /** By bucket key, while calls are under way: the number of its last change. */
  private readonly changedAt = new Map<string, number>();
  private allChangedAt = 0;
  private asking = 0;

  constructor(
    private readonly store: Store,
    private readonly options: DenyCacheOptions,
  ) {}

  take(groups: readonly Group[], options?: TakeOptions): Promise<readonly GroupOutcome[]> {
    const askedUs = this.clockUs();
    if (this.denials.size === 0) return this.ask(groups, askedUs, options);
    const denied = groups.map((group) => this.denyOrForget(group, askedUs));
    const known = denied.filter((verdict) => verdict !== undefined);
    if (known.length === groups.length) return Promise.resolve(known);
    if (known.length === 0) return this.ask(groups, askedUs, options);
    return this.askOthers({ groups, denied, askedUs, options });
  }

  async settle(settlements: readonly Settlement[], options?: TakeOptions): Promise<readonly SettleOutcome[]> {
    try {
      return await this.store.settle(settlements, options);
    } finally {
      this.forget(settlements);
    }
  }

  /** Hits have been given back to these buckets, or may have been. */
  forget(changed: readonly Pick<Settlement, 'bucketKey'>[]): void {
    for (const { bucketKey } of changed) this.change(bucketKey);
  }

  /** The store may have forgotten anything. */
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

  private async askOthers({ groups, denied, askedUs, options }: AskOthersInput): Promise<readonly GroupOutcome[]> {
    const outcomes = await this.ask(groups.filter((_, i) => denied[i] === undefined), askedUs, options);
    const answers = outcomes.values();
    return denied.flatMap((verdict) => verdict ?? answers.next().value ?? []);
  }

  /** Not async: every call comes through here, and its promises are what it leaves behind. */
  private ask(groups: readonly Group[], askedUs: number, options: TakeOptions | undefined): Promise<readonly GroupOutcome[]> {
    const { changes } = this;
    this.asking += 1;
    return this.store.take(groups, options).then(
      (outcomes) => {
        for (let i = 0; i < outcomes.length; i += 1) {
          const outcome = outcomes[i];
          const group = groups[i];
          if (group !== undefined && outcome !== undefined && 'verdicts' in outcome && outcome.overLimit) this.remember({ group, outcome, askedUs, changes });
        }
        this.heardOf(groups);
        return outcomes;
      },
      (error: unknown) => {
        this.heardOf(groups);
        throw error;
      },
    );
  }

  /** Refunds and larger limits among them have made room by now, or may have. */
  private heardOf(groups: readonly Group[]): void {
    this.asking -= 1;
    // What was denied before it, while it was under way too, is remembered by now.
    for (const { takes } of groups) for (const take of takes) if (take.hits < 0 || (this.denials.size > 0 && this.mayMakeRoom(take))) this.change(take.bucketKey);
    if (this.asking === 0 && this.changedAt.size > 0) this.changedAt.clear();
  }

  /** The denial that is known of the group; if none, its buckets are forgotten that it may make room in. */
  private denyOrForget(group: Group, clockUs: number): GroupVerdict | undefined {
    if (!group.takes.some(({ bucketKey }) => this.denials.has(bucketKey))) return undefined;
    const buckets = bucketsOf(group);
    const known = group.takes.map((take) => this.denialOf(take, hitsOn(take, buckets), clockUs));
    const first = known.find((denial) => denial !== undefined);
    // A usage report is charged whatever the answer: the store has to be asked.
    if (first === undefined || group.shadow || group.dry === true || hasUsageReport(group)) {
      for (const take of group.takes) if (this.mayMakeRoom(take)) this.denials.delete(take.bucketKey);
      return undefined;
    }
    this.options.onDenied();
    const nowUs = first.nowUs + clockUs - first.askedUs;
    const verdicts = group.takes.map((take, i) => {
      const denial = known[i];
      const hits = hitsOn(take, buckets);
      return denial === undefined ? this.describe(take, { hits, nowUs }) : describeDenial(denial, { hits, clockUs });
    });
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
    return isSameLimit(denial.limit, limit) && needed >= denial.hits ? denial : undefined;
  }

  /** Under a larger limit a bucket may be refilled faster. */
  private mayMakeRoom({ bucketKey, limit, hits }: Take): boolean {
    const denial = this.denials.get(bucketKey);
    return denial !== undefined && (hits < 0 || !isSameLimit(denial.limit, limit));
  }

  private remember({ group, outcome: { verdicts, nowUs }, askedUs, changes }: RememberInput): void {
    if (group.shadow || group.dry === true || changes < this.allChangedAt) return;
    const buckets = bucketsOf(group);
    for (const [i, take] of group.takes.entries()) {
      const { bucketKey, limit, mode } = take;
      const verdict = verdicts[i];
      // A slot of a request in flight is released at any time, mostly from elsewhere.
      if (limit.algorithm === 'in_flight') continue;
      if (mode !== 'enforced' || verdict === undefined || verdict.fits) continue;
      if (changes < (this.changedAt.get(bucketKey) ?? 0) || buckets.get(bucketKey)?.hasOneLimit !== true) continue;
      const untilUs = askedUs + Math.min(REMEMBERED_US_MAX, holdsForUs(limit, verdict));
      // What a usage report waits for is one hit, however many it has charged.
      const hits = isUsageReport(take) ? 1 : hitsOn(take, buckets);
      if (untilUs > this.clockUs()) this.keep(bucketKey, { limit, hits, verdict, askedUs, untilUs, nowUs });
    }
  }

  /** In whole microseconds: fractions of a millisecond do not add up, and a denial would outlive its moment. */
  private clockUs(): number {
    return Math.round(this.options.nowMs() * US_PER_MS);
  }

  private keep(bucketKey: string, denial: Denial): void {
    this.denials.set(bucketKey, denial);
    while (this.denials.size > this.options.bucketsMax) this.denials.deleteOldest();
  }

  private change(bucketKey: string): void {
    this.denials.delete(bucketKey);
    if (this.asking === 0) return;
    this.changes += 1;
    if (this.changedAt.size >= this.options.bucketsMax) {
      // Too many to tell apart: of none of the calls under way a denial is remembered.
      this.changedAt.clear();
      this.allChangedAt = this.changes;
    }
    this.changedAt.set(bucketKey, this.changes);
  }

  /** A take that would fit for all that is known here, or never can. */
  private describe({ bucketKey, limit }: Take, { hits, nowUs }: DescribeInput): Verdict {
    const { lastKnown } = this.options;
    const fits = hits <= limit.capacity;
    // A share that never refills is known as never full again, which is no duration. A limit of 0 names its window.
    const lastUs = limit.requestsPerUnit === 0 ? limit.windowUs : Math.min(WINDOW_US_MAX, Math.ceil(lastKnown.resetAfterUs(bucketKey)));
    const resetAfterUs = windowEndsAfterUs(limit, nowUs) ?? lastUs;
    return { fits, remaining: lastKnown.remaining(bucketKey, limit), retryAfterUs: fits ? 0 : NEVER, resetAfterUs };
  }
}

/** How long the denial is what the store would say. Hits that never fit don't in the next window either, but there that is full again, and ends later. */
function holdsForUs({ algorithm }: BucketLimit, { retryAfterUs, resetAfterUs }: Verdict): number {
  if (retryAfterUs !== NEVER) return retryAfterUs;
  return algorithm === 'fixed_window' ? resetAfterUs : Infinity;
}

interface AskOthersInput {
  readonly groups: readonly Group[];
  readonly denied: readonly (GroupVerdict | undefined)[];
  readonly askedUs: number;
  readonly options: TakeOptions | undefined;
}

interface DescribeInput {
  /** That must be left for the take to fit. */
  readonly hits: number;
  /** About the store's. */
  readonly nowUs: number;
}

interface RememberInput {
  readonly group: Group;
  readonly outcome: GroupVerdict;
  readonly askedUs: number;
  /** How many there were when it was asked for. */
  readonly changes: number;
}

function describeDenial({ limit, hits: deniedHits, verdict, askedUs }: Denial, { hits, clockUs }: DescribeDenialInput): Verdict {
  const left = (durationUs: number) => Math.max(0, durationUs - (clockUs - askedUs));
  const retryAfterUs = hits > limit.capacity ? NEVER : left(verdict.retryAfterUs + waitForMoreUs(limit, hits - deniedHits));
  const resetAfterUs = left(verdict.resetAfterUs);
  if (verdict.debt === undefined) return { fits: false, remaining: verdict.remaining, retryAfterUs, resetAfterUs };
  return { fits: false, remaining: verdict.remaining, retryAfterUs, resetAfterUs, debt: verdict.debt };
}

interface DescribeDenialInput {
  /** Of the group on the bucket: as many as were denied, or more. */
  readonly hits: number;
  readonly clockUs: number;
}

/** What more hits wait for longer. A window frees all at once; when a log or a counter frees more is not known here. */
function waitForMoreUs({ algorithm, requestsPerUnit, windowUs }: BucketLimit, hits: number): number {
  const drains = algorithm === 'token_bucket' || algorithm === 'leaky_bucket';
  return drains ? Math.ceil((hits * windowUs) / requestsPerUnit) : 0;
}

/** A window of the clock or the calendar ends whatever is used of it; undefined: the limit has none, or none around now. */
function windowEndsAfterUs(limit: BucketLimit, nowUs: number): number | undefined {
  return limit.algorithm === 'fixed_window' && !isOutside(limit, nowUs) ? windowAt(limit, nowUs).endsAfterUs : undefined;
}

function isSameLimit(a: BucketLimit, b: BucketLimit): boolean {
  return a === b || (a.requestsPerUnit === b.requestsPerUnit && a.capacity === b.capacity && a.windowUs === b.windowUs);
}

/** What a group asks of one bucket. */
interface AskedBucket {
  /** Its positive hits there: they are one sum. */
  hits: number;
  readonly limit: BucketLimit;
  /** A smaller limit beside it slows the refill down, and makes the wait longer than it is without. */
  hasOneLimit: boolean;
}

/** By bucket key. */
function bucketsOf({ takes }: Group): ReadonlyMap<string, AskedBucket> {
  const buckets = new Map<string, AskedBucket>();
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
function hitsOn(take: Take, buckets: ReadonlyMap<string, AskedBucket>): number {
  return neededHits(take, buckets.get(take.bucketKey)?.hits ?? 0);
}
