/** The fallback ledger: buckets of this instance for mode `local`, and the hits to charge to the store afterwards. */

import { setImmediate as nextTurn } from 'node:timers/promises';
import { forgetRank, RANKS, rankToForget } from '../../domain/bucket/forget-rank';
import { NOT_ADJUSTED, type BucketLimit, type Group, type Adjustment, type Take, type Verdict, wholeLimit } from '../../domain/bucket/take';
import { copyOf } from '../../domain/descriptor/byte-string';
import type { MemoryStore } from '../store/memory/memory-store';
import type { GroupOutcome, Store } from '../store/port/store';
import { StoreError } from '../store/port/store-error';
import { RankedLruMap } from '../../lib/ranked-lru';
import { LateRefund, NO_REFUND, sendRefund, type SentRefund } from './late-refund';
import type { UsageSnapshot } from './usage-snapshot';
import { hitsOfShare, shareOfHits, toLocalShare } from './local-share';
import { US_PER_MS } from '../../lib/time-units';

/** Decides within the same turn of the event loop, and drops buckets on request. */
export type LocalStore = Pick<MemoryStore, 'take' | 'apply' | 'decide' | 'forget' | 'close'>;

export interface FallbackLedgerOptions {
  /** The buckets of this instance. */
  readonly local: LocalStore;
  /** Charged afterwards. */
  readonly store: Store;
  readonly lastKnown: UsageSnapshot;
  /** Most buckets in the ledger; beyond it one is evicted in the order of `src/domain/bucket/forget-rank.ts`. */
  readonly accountsMax: number;
  /** A monotonic clock, in milliseconds. */
  readonly nowMs: () => number;
  /** This process's clock, in microseconds since 1970: an estimate of the store's. */
  readonly nowUs: () => number;
  /** Last known number of live instances, at least 1. */
  readonly instances: () => number;
  /**
   * Whether the server of this bucket is available, as far as is known; otherwise it is not charged, while other servers may
   * be. Default: always.
   */
  readonly isThere?: (bucket: Pick<Adjustment, 'bucketKey' | 'limit'>) => boolean;
  /** Reports hits that the store was charged. */
  readonly onChargedBack: (hits: number) => void;
  /** Reports admitted hits that the store may never count, and refunded ones that it may go on counting. */
  readonly onLost: (hits: number, cause: LossCause) => void;
  /** Called when what `kept` returns has changed. */
  readonly onChange?: () => void;
  /** The store is charged once this has resolved: from then on `kept` owes it nothing. */
  readonly onCharging?: () => Promise<void>;
}

/** An account as another process goes on with it. */
export interface KeptAccount {
  readonly bucketKey: string;
  readonly limit: BucketLimit;
  readonly instances: number;
  /** Hits of its own bucket that were used at that time, in microseconds since 1970. */
  readonly used: number;
  readonly atUs: number;
  readonly overdraftMax?: number | undefined;
  /** Admitted hits that the store was not charged for. */
  readonly owed: number;
  readonly refunds: SentRefund;
}

/**
 * `answer`: the reply to the charge was lost. `room`: the account was evicted. `bucket`: the bucket's key holds other data,
 * or the store's clock is in another calendar window. `refund`: the reply to a refund was lost.
 */
export type LossCause = 'answer' | 'room' | 'bucket' | 'refund';

interface Account {
  readonly bucketKey: string;
  readonly localKey: string;
  readonly instances: number;
  limit: BucketLimit;
  /** Admitted hits that are not yet charged to the store. */
  admitted: number;
  /** Hits given back beyond those, which the store still counts. */
  readonly refunds: LateRefund;
  /** Latest time at which its own bucket is full again, by this process's clock. */
  fullAtMs: number;
  /** Takes without a result yet. */
  deciding: number;
  /** Hits of its own bucket that were used at that time. */
  used: number;
  usedAtUs: number;
  /** How far below zero its hits may take the bucket; undefined without usage reports. */
  overdraftMax: number | undefined;
}

/** Buckets of one charging call: well below a millisecond of Redis. */
const CHARGED_AT_ONCE = 100;

/** Accounts checked before yielding: a fraction of a millisecond. */
const LOOKED_AT_AT_ONCE = 1_000;

/** Deadline of a charge, in milliseconds: longer than that of a call, because nothing waits for it. */
const CHARGE_TIMEOUT_MS = 1_000;

/** Pause after a failed charge, in milliseconds. */
const PAUSE_MS = 1_000;

export class FallbackLedger {
  /** For each rank in the order of last use. */
  private readonly accounts = new RankedLruMap<Account>({ ranks: RANKS });
  /** Suffix of the keys of its own buckets: an account that is opened again after a charge-back gets a new bucket. */
  private opened = 0;
  private isCharging = false;
  private pausedUntilMs = -Infinity;

  constructor(private readonly options: FallbackLedgerOptions) {}

  /**
   * The take on this instance's own bucket. The first take on a bucket starts it with the share of the last known
   * remaining hits. The caller must report the result to `decide`.
   */
  toLocal(take: Take): Take {
    const account = this.accounts.get(take.bucketKey) ?? this.open(take);
    // Makes it the most recently used account.
    this.accounts.set(account.bucketKey, account);
    account.limit = largerOf(account.limit, wholeLimit(take.limit));
    account.deciding += 1;
    if (take.overdraftMax !== undefined) account.overdraftMax = Math.max(account.overdraftMax ?? 0, take.overdraftMax);
    return { ...take, bucketKey: account.localKey, limit: toLocalShare(take.limit, account) };
  }

  /** Records the result of a take: whether its hits were admitted or given back here. */
  decide({ bucketKey, localKey, capacity, hits, passes, remaining, debt, resetAfterUs }: DecidedTake): void {
    const account = this.accounts.get(bucketKey);
    if (account?.localKey === localKey) {
      account.deciding -= 1;
      account.fullAtMs = Math.max(account.fullAtMs, this.options.nowMs() + resetAfterUs / US_PER_MS);
      if (passes && hits < 0) this.refund(account, -hits);
      else if (passes) account.admitted += hits;
      if (passes && hits !== 0) this.use(account, capacity - remaining + debt);
      this.accounts.set(bucketKey, account, forgetRank(remaining - debt, capacity, resetAfterUs));
    } else {
      // Evicted during the decision.
      this.options.local.forget(localKey);
      if (passes && hits > 0) this.options.onLost(hits, 'room');
    }
  }

  /**
   * The store decides again: charges it for admitted hits that still count, where its servers are available. A charge that
   * may have run is not repeated, because charging twice is worse. Buckets that could not be charged stay in the ledger, and the usage snapshot remembers those that
   * were, so that a store with interruptions does not renew the shares.
   */
  chargeBack(): void {
    if (this.accounts.size === 0 || this.isCharging || this.options.nowMs() < this.pausedUntilMs) return;
    this.isCharging = true;
    void this.chargeAll().finally(() => {
      this.isCharging = false;
      this.options.onChange?.();
    });
  }

  /**
   * The accounts, those first that give away most when they are lost. Hits that are being charged are not owed: a process that goes on
   * with the accounts would charge them twice.
   */
  *kept(): Generator<KeptAccount, void> {
    for (const account of [...this.accounts.values()].reverse()) {
      if (!this.isOpen(account)) continue;
      const { bucketKey, limit, instances, used, usedAtUs: atUs, overdraftMax, admitted, refunds } = account;
      const owes = !this.isCharging;
      yield { bucketKey, limit, instances, used, atUs, overdraftMax, owed: owes ? admitted : 0, refunds: owes ? refunds.sent : NO_REFUND };
    }
  }

  /** Goes on with an account of another process, before the first decision. */
  restore({ bucketKey, limit, instances, used, atUs, overdraftMax, owed, refunds }: KeptAccount): void {
    if (this.accounts.size >= this.options.accountsMax) return;
    const account = this.add({ bucketKey, limit, instances });
    account.admitted = owed;
    account.overdraftMax = overdraftMax;
    account.refunds.putBack(refunds.hits, refunds.takenAtUs);
    this.fill(account, { used, atUs: Math.min(atUs, this.options.nowUs()) });
    const { remaining = 0, debt = 0, resetAfterUs = 0 } = this.leftOf(account) ?? {};
    const { capacity } = toLocalShare(limit, account);
    // Its hits are too old to count, or its window is over.
    if ((resetAfterUs === 0 || remaining - debt >= capacity) && refunds.hits === 0) {
      this.close(account);
      return;
    }
    account.fullAtMs = this.options.nowMs() + resetAfterUs / US_PER_MS;
    this.accounts.set(bucketKey, account, forgetRank(remaining - debt, capacity, resetAfterUs));
  }

  private open({ bucketKey, limit }: Take): Account {
    if (this.accounts.size >= this.options.accountsMax) this.drop(this.toDrop());
    const account = this.add({ bucketKey: copyOf(bucketKey), limit: wholeLimit(limit), instances: this.options.instances() });
    this.seed(account);
    return account;
  }

  private add({ bucketKey, limit, instances }: Pick<Account, 'bucketKey' | 'limit' | 'instances'>): Account {
    this.opened += 1;
    const account = {
      bucketKey,
      localKey: `${bucketKey}/${this.opened}`,
      instances,
      limit,
      admitted: 0,
      refunds: new LateRefund(),
      fullAtMs: 0,
      deciding: 0,
      used: 0,
      usedAtUs: 0,
      overdraftMax: undefined,
    };
    this.accounts.set(bucketKey, account);
    return account;
  }

  private use(account: Account, used: number): void {
    account.used = used;
    account.usedAtUs = this.options.nowUs();
    this.options.onChange?.();
  }

  /** An account that no longer counts anything, if the oldest of a rank is one; otherwise the first one in the order of eviction. */
  private toDrop(): Account | undefined {
    const { accounts } = this;
    for (let rank = 0; rank < RANKS; rank += 1) {
      const oldest = accounts.oldestOf(rank);
      if (oldest !== undefined && this.isOver(oldest)) return oldest;
    }
    return accounts.oldestOf(rankToForget(accounts.sizes, this.options.accountsMax - 1));
  }

  private isOver({ deciding, fullAtMs }: Account): boolean {
    return deciding === 0 && fullAtMs <= this.options.nowMs();
  }

  /** The store may never count these hits; the usage snapshot remembers what is left of the share, so that it is not renewed. */
  private drop(account: Account | undefined): void {
    if (account === undefined) return;
    const { bucketKey, limit, instances, admitted, refunds } = account;
    if (!this.isOver(account)) {
      const left = this.leftOf(account);
      if (left !== undefined) {
        const remaining = Math.min(limit.capacity, hitsOfShare(left.remaining, { instances }));
        this.options.lastKnown.record(bucketKey, limit, { ...left, remaining });
      }
      if (admitted > 0) this.options.onLost(admitted, 'room');
    }
    if (refunds.hits > 0) this.options.onLost(refunds.hits, 'room');
    this.close(account);
  }

  /** The state of its own bucket; undefined if its calendar window is over. */
  private leftOf(account: Account): Verdict | undefined {
    const [outcome] = this.options.local.decide([toCheck(account)]);
    return outcome !== undefined && 'verdicts' in outcome ? outcome.verdicts[0] : undefined;
  }

  /** Hits that were admitted here are given back first: the store was never charged for them. */
  private refund(account: Account, hits: number): void {
    const ofAdmitted = Math.min(account.admitted, hits);
    account.admitted -= ofAdmitted;
    account.refunds.add(hits - ofAdmitted, account.limit, this.options.nowUs());
  }

  private close({ bucketKey, localKey }: Account): void {
    this.accounts.delete(bucketKey);
    this.options.local.forget(localKey);
  }

  /** Unless hits that the store does not know have come meanwhile. */
  private closeIfEmpty(account: Account): void {
    if (account.admitted === 0 && account.deciding === 0 && account.refunds.hits === 0) this.close(account);
  }

  /** Records the hits in the usage snapshot, so that the share is not renewed. */
  private remember({ bucketKey, limit }: Account, hits: number, resetAfterUs: number): void {
    this.options.lastKnown.charge({ bucketKey, limit, hits, resetAfterUs });
  }

  private seed(account: Account): void {
    const { bucketKey, instances, limit } = account;
    const remaining = this.options.lastKnown.remaining(bucketKey, limit);
    const { capacity } = toLocalShare(limit, { instances });
    const used = capacity - Math.min(capacity, shareOfHits(remaining, { instances }));
    if (used > 0) this.fill(account, { used });
  }

  /** Begins its own bucket with hits that were used at that time; without it, now. */
  private fill(account: Account, { used, atUs }: { readonly used: number; readonly atUs?: number }): void {
    account.used = used;
    account.usedAtUs = atUs ?? this.options.nowUs();
    const { localKey: bucketKey, overdraftMax } = account;
    const charge = toCharge({ bucketKey, limit: toLocalShare(account.limit, account), hits: used });
    this.options.local.apply([overdraftMax === undefined ? charge : { ...charge, overdraftMax }], atUs);
  }

  /** False if it was dropped meanwhile. */
  private isOpen(account: Account): boolean {
    return this.accounts.get(account.bucketKey) === account;
  }

  private async chargeAll(): Promise<void> {
    await this.options.onCharging?.();
    const { isThere = () => true } = this.options;
    const due = [...this.accounts.values()];
    for (let from = 0; from < due.length; from += LOOKED_AT_AT_ONCE) {
      if (from > 0) await nextTurn();
      const some = due.slice(from, from + LOOKED_AT_AT_ONCE).filter((account) => this.isOpen(account));
      const there = some.filter(isThere);
      if (there.length < some.length) this.pause();
      if (!(await this.chargeThere(there))) return;
    }
  }

  /** False if none of the last accounts could be charged. */
  private async chargeThere(due: readonly Account[]): Promise<boolean> {
    for (let from = 0; from < due.length; from += CHARGED_AT_ONCE) {
      const charged = await this.charge(due.slice(from, from + CHARGED_AT_ONCE));
      if (charged !== 'all') this.pause();
      if (charged === 'none') return false;
    }
    return true;
  }

  private pause(): void {
    this.pausedUntilMs = this.options.nowMs() + PAUSE_MS;
  }

  private async charge(due: readonly Account[]): Promise<'all' | 'some' | 'none'> {
    // Read both at one moment: hits admitted later are charged the next time.
    const counting = this.options.local.take(due.map(toCheck));
    const admitted = due.map((account) => {
      const hits = account.admitted;
      account.admitted = 0;
      return hits;
    });
    const counted = await counting;
    // Charges 0 hits too, which shows whether the store counts this bucket again.
    const charges = due.map((account, i) => {
      const hits = Math.min(admitted[i] ?? 0, usedOf(account, counted[i]));
      const { bucketKey, limit, overdraftMax } = account;
      const charge = toCharge({ bucketKey, limit, hits });
      return overdraftMax === undefined ? charge : { ...charge, overdraftMax };
    });
    const outcomes = await this.options.store
      .adjust(charges, { timeoutMs: CHARGE_TIMEOUT_MS })
      .catch((error: unknown) => charges.map(() => error));
    let failed = 0;
    for (const [i, account] of due.entries()) {
      const outcome = outcomes[i];
      const hits = charges[i]?.hits ?? 0;
      if (typeof outcome === 'number') {
        if (outcome === NOT_ADJUSTED) this.options.onLost(hits, 'bucket');
        else this.options.onChargedBack(outcome);
        // An account dropped meanwhile is already in the usage snapshot.
        if (!this.isOpen(account)) continue;
        this.remember(account, hits, resetAfterUsOf(counted[i]));
        // More hits may have been admitted during the charge.
        this.closeIfEmpty(account);
      } else {
        failed += 1;
        this.keep(account, { hits, mayHaveRun: !(outcome instanceof StoreError) || outcome.mayHaveRun });
      }
    }
    failed = Math.max(failed, await this.giveBack(due));
    if (failed === 0) return 'all';
    return failed < due.length ? 'some' : 'none';
  }

  /** Gives hits back in the store, after its charges. Returns how many buckets failed. */
  private async giveBack(due: readonly Account[]): Promise<number> {
    const { store } = this.options;
    const failures = await Promise.all(
      due
        .filter(({ refunds }) => refunds.hits > 0)
        .map(async (account) => {
          const { hits, takenAtUs } = account.refunds.take();
          const failure = await sendRefund(store, { account, hits, takenAtUs });
          if (failure === undefined) {
            if (this.isOpen(account)) this.closeIfEmpty(account);
            return 0;
          }
          if (failure.mayHaveRun || !this.isOpen(account)) this.options.onLost(hits, failure.mayHaveRun ? 'refund' : 'room');
          else account.refunds.putBack(hits, takenAtUs);
          return 1;
        }),
    );
    return failures.reduce<number>((sum, each) => sum + each, 0);
  }

  /** Keeps hits that could not be charged; they are lost if the charge may have run, or the account was dropped meanwhile. */
  private keep(account: Account, { hits, mayHaveRun }: { readonly hits: number; readonly mayHaveRun: boolean }): void {
    const isOpen = this.isOpen(account);
    if (mayHaveRun || !isOpen) this.options.onLost(hits, mayHaveRun ? 'answer' : 'room');
    else account.admitted += hits;
    // Makes it the most recently used account, so that accounts on available servers come first.
    if (isOpen) this.accounts.set(account.bucketKey, account);
  }
}

interface DecidedTake extends Pick<Take, 'bucketKey' | 'hits'> {
  readonly passes: boolean;
  /** Key of its own bucket, whose values the following fields are. */
  readonly localKey: string;
  readonly capacity: number;
  readonly remaining: number;
  readonly debt: number;
  readonly resetAfterUs: number;
}

/** The larger of two limits on one bucket, because a smaller one would cut off its count; with the latest calendar windows. */
function largerOf(known: BucketLimit, requested: BucketLimit): BucketLimit {
  const larger = requested.capacity > known.capacity ? requested : known;
  const { edgesUs } = requested;
  return edgesUs === undefined || larger.edgesUs === edgesUs ? larger : { ...larger, edgesUs };
}

/** Hits that its own bucket still counts; 0 after a calendar window. */
function usedOf({ limit, instances }: Account, outcome: GroupOutcome | undefined): number {
  if (outcome === undefined || !('verdicts' in outcome)) return 0;
  const { remaining = 0, debt = 0 } = outcome.verdicts[0] ?? {};
  return toLocalShare(limit, { instances }).capacity - remaining + debt;
}

function resetAfterUsOf(outcome: GroupOutcome | undefined): number {
  return outcome !== undefined && 'verdicts' in outcome ? (outcome.verdicts[0]?.resetAfterUs ?? 0) : 0;
}

/** A check, whose verdict also shows the debt of an empty bucket. */
function toCheck({ localKey, limit, instances }: Account): Group {
  const check: Take = { bucketKey: localKey, limit: toLocalShare(limit, { instances }), hits: 0, mode: 'enforced', descriptor: 0 };
  return { takes: [check], quotaAlwaysFits: false, shadow: false };
}

function toCharge(charge: Pick<Adjustment, 'bucketKey' | 'limit' | 'hits'>): Adjustment {
  return { ...charge, takenAtUs: 0, usedBefore: 0 };
}
