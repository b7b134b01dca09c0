/** What this instance lets pass without the store: buckets of its own, and what the store is charged for afterwards. */

import { setImmediate as nextTurn } from 'node:timers/promises';
import { UNSETTLED, type BucketLimit, type Group, type Settlement, type Take } from '../bucket/take';
import { StoreError, type GroupOutcome, type Store } from '../store/store';
import { UseOrderMap } from '../store/use-order-map';
import type { LastKnown } from './last-known';
import { shareOfHits, toLocalShare } from './local-share';

export interface LocalAccountsOptions {
  /** Keeps the buckets of this instance. */
  readonly local: Store;
  /** What is charged afterwards. */
  readonly store: Store;
  readonly lastKnown: LastKnown;
  /** Most buckets whose hits are charged back; beyond it the one not asked for longest is dropped. */
  readonly accountsMax: number;
  /** A clock that is never set, in milliseconds. */
  readonly nowMs: () => number;
  /** Live instances, as last known, at least 1. */
  readonly instances: () => number;
  /**
   * Whether the server that has this bucket is there, as far as is known: if not, it is not charged. Others may be all the
   * same. Default: always.
   */
  readonly isThere?: (bucket: Pick<Settlement, 'bucketKey' | 'limit'>) => boolean;
  /** Hits that the store has been charged for. */
  readonly onChargedBack: (hits: number) => void;
  /** Hits let pass here that the store may never count. */
  readonly onLost: (hits: number, cause: LossCause) => void;
}

/**
 * The answer to the charge was lost; there was no room for the account, and it was dropped; or the store holds something else under the
 * bucket's key, or its clock is in another window of the calendar.
 */
export type LossCause = 'answer' | 'room' | 'bucket';

interface Account {
  readonly bucketKey: string;
  readonly localKey: string;
  readonly instances: number;
  limit: BucketLimit;
  /** Hits let pass here that the store has not been asked to count. */
  admitted: number;
  /** When its own bucket counts nothing any more, at the latest, by this process's clock. */
  fullAtMs: number;
  /** Takes that are being decided. */
  deciding: number;
  /** How far below zero its hits may take the bucket; undefined: no usage report has come. */
  overdraftMax: number | undefined;
}

/** Buckets charged in one call: well below a millisecond of Redis. */
const CHARGED_AT_ONCE = 100;

/** Buckets whose server is looked for before other things have their turn: a fraction of a millisecond. */
const LOOKED_AT_AT_ONCE = 1_000;

/** Nobody waits for a charge, so it may take longer than a call, in milliseconds. */
const CHARGE_TIMEOUT_MS = 1_000;

/** After a charge that failed the next one waits so long, in milliseconds. */
const PAUSE_MS = 1_000;

const US_PER_MS = 1_000;

export class LocalAccounts {
  /** In the order of their last use. */
  private readonly accounts = new UseOrderMap<Account>();
  /** Ends the keys of its own buckets: one that is opened anew after a charge-back begins anew. */
  private opened = 0;
  private isCharging = false;
  private pausedUntilMs = -Infinity;

  constructor(private readonly options: LocalAccountsOptions) {}

  /**
   * The take on this instance's own bucket. The first one on a bucket leaves in it the share of what was last known to be
   * left. `decide` is to be told what becomes of it.
   */
  toLocal(take: Take): Take {
    const account = this.accounts.get(take.bucketKey) ?? this.open(take);
    // Last in line to be dropped.
    this.accounts.set(account.bucketKey, account);
    account.limit = largerOf(account.limit, take.limit);
    account.deciding += 1;
    if (take.overdraftMax !== undefined) account.overdraftMax = Math.max(account.overdraftMax ?? 0, take.overdraftMax);
    return { ...take, bucketKey: account.localKey, limit: toLocalShare(take.limit, account) };
  }

  /** Its hits have passed here, or been given back; or they have not. */
  decide({ bucketKey, localKey, hits, passes, resetAfterUs }: DecidedTake): void {
    const account = this.accounts.get(bucketKey);
    if (account?.localKey === localKey) {
      account.deciding -= 1;
      account.fullAtMs = Math.max(account.fullAtMs, this.options.nowMs() + resetAfterUs / US_PER_MS);
      if (passes) account.admitted = Math.max(0, account.admitted + hits);
    } else if (passes && hits > 0) {
      this.options.onLost(hits, 'room');
    }
  }

  /**
   * The store decides again: charges it for what has passed here and still counts, as far as its servers are there. A charge that
   * may have been run is not sent again, since twice is too much. A bucket that could not be charged keeps what it has used here, and of one that
   * was it is remembered: a store that comes and goes, or is there in part, does not make a share anew.
   */
  chargeBack(): void {
    if (this.accounts.size === 0 || this.isCharging || this.options.nowMs() < this.pausedUntilMs) return;
    this.isCharging = true;
    void this.chargeAll().finally(() => {
      this.isCharging = false;
    });
  }

  private open({ bucketKey: key, limit }: Take): Account {
    if (this.accounts.size >= this.options.accountsMax) this.dropOldest();
    this.opened += 1;
    const bucketKey = copyOf(key);
    const account = { bucketKey, localKey: `${bucketKey}/${this.opened}`, instances: this.options.instances(), limit, admitted: 0, fullAtMs: 0, deciding: 0, overdraftMax: undefined };
    this.seed(account);
    return account;
  }

  /** Of the bucket not asked for longest, the store may never count what has passed; here it is remembered. */
  private dropOldest(): void {
    const account = this.accounts.oldest;
    if (account === undefined) return;
    this.accounts.delete(account.bucketKey);
    if (account.admitted > 0) this.options.onLost(account.admitted, 'room');
    this.remember(account, account.admitted, Math.max(0, account.fullAtMs - this.options.nowMs()) * US_PER_MS);
  }

  /** So that its share is not there anew the next time. */
  private remember({ bucketKey, limit }: Account, hits: number, resetAfterUs: number): void {
    this.options.lastKnown.charge({ bucketKey, limit, hits, resetAfterUs });
  }

  private seed({ bucketKey, localKey, instances, limit }: Account): void {
    const remaining = this.options.lastKnown.remaining(bucketKey, limit);
    const share = toLocalShare(limit, { instances });
    const hits = share.capacity - Math.min(share.capacity, shareOfHits(remaining, { instances }));
    if (hits > 0) void this.options.local.settle([toCharge({ bucketKey: localKey, limit: share, hits })]);
  }

  /** Not dropped meanwhile. */
  private isOpen(account: Account): boolean {
    return this.accounts.get(account.bucketKey) === account;
  }

  private async chargeAll(): Promise<void> {
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

  /** False: none of the last ones could be charged. */
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
    // Both of one moment: what passes from now on is charged the next time.
    const counting = this.options.local.take(due.map(toCheck));
    const admitted = due.map((account) => {
      const hits = account.admitted;
      account.admitted = 0;
      return hits;
    });
    const counted = await counting;
    // Also of nothing: it shows that the store counts this bucket again.
    const charges = due.map((account, i) => {
      const hits = Math.min(admitted[i] ?? 0, usedOf(account, counted[i]));
      const { bucketKey, limit, overdraftMax } = account;
      const charge = toCharge({ bucketKey, limit, hits });
      return overdraftMax === undefined ? charge : { ...charge, overdraftMax };
    });
    const outcomes = await this.options.store.settle(charges, { timeoutMs: CHARGE_TIMEOUT_MS }).catch((error: unknown) => charges.map(() => error));
    let failed = 0;
    for (const [i, account] of due.entries()) {
      const outcome = outcomes[i];
      const hits = charges[i]?.hits ?? 0;
      if (typeof outcome === 'number') {
        if (outcome === UNSETTLED) this.options.onLost(hits, 'bucket');
        else this.options.onChargedBack(outcome);
        this.remember(account, hits, resetAfterUsOf(counted[i]));
        // While it was charged, more may have passed.
        if (account.admitted === 0 && account.deciding === 0 && this.isOpen(account)) this.accounts.delete(account.bucketKey);
      } else {
        failed += 1;
        this.keep(account, { hits, mayHaveRun: !(outcome instanceof StoreError) || outcome.mayHaveRun, resetAfterUs: resetAfterUsOf(counted[i]) });
      }
    }
    if (failed === 0) return 'all';
    return failed < due.length ? 'some' : 'none';
  }

  /** They could not be charged, as far as is known. Of an account that was dropped meanwhile nobody keeps them. */
  private keep(account: Account, { hits, mayHaveRun, resetAfterUs }: NotChargedHits): void {
    const isOpen = this.isOpen(account);
    if (mayHaveRun || !isOpen) this.options.onLost(hits, mayHaveRun ? 'answer' : 'room');
    else account.admitted += hits;
    // Last in line: others may lie where the store is there.
    if (isOpen) this.accounts.set(account.bucketKey, account);
    else this.remember(account, hits, resetAfterUs);
  }
}

interface DecidedTake extends Pick<Take, 'bucketKey' | 'hits'> {
  /** Of its bucket here. */
  readonly localKey: string;
  readonly passes: boolean;
  /** Of its bucket here. */
  readonly resetAfterUs: number;
}

interface NotChargedHits {
  readonly hits: number;
  readonly mayHaveRun: boolean;
  readonly resetAfterUs: number;
}

/** Of limits that share the bucket the largest, since the others would cut off what it counts; of a calendar, around the latest now. */
function largerOf(known: BucketLimit, asked: BucketLimit): BucketLimit {
  const larger = asked.capacity > known.capacity ? asked : known;
  const { edgesUs } = asked;
  return edgesUs === undefined || larger.edgesUs === edgesUs ? larger : { ...larger, edgesUs };
}

/** A key as it comes is put together of parts of its message, and would keep all of that for as long as it is kept. */
function copyOf(key: string): string {
  return Buffer.from(key).toString();
}

/** What its own bucket still counts. A window of the calendar that is over counts nothing. */
function usedOf({ limit, instances }: Account, outcome: GroupOutcome | undefined): number {
  if (outcome === undefined || !('verdicts' in outcome)) return 0;
  const { remaining = 0, debt = 0 } = outcome.verdicts[0] ?? {};
  return toLocalShare(limit, { instances }).capacity - remaining + debt;
}

function resetAfterUsOf(outcome: GroupOutcome | undefined): number {
  return outcome !== undefined && 'verdicts' in outcome ? (outcome.verdicts[0]?.resetAfterUs ?? 0) : 0;
}

/** Where nothing is left, it says how far the bucket is below zero. */
function toCheck({ localKey, limit, instances }: Account): Group {
  const check: Take = { bucketKey: localKey, limit: toLocalShare(limit, { instances }), hits: 0, mode: 'enforced', descriptor: 0 };
  return { takes: [check], quotaAlwaysFits: false, shadow: false };
}

function toCharge(charge: Pick<Settlement, 'bucketKey' | 'limit' | 'hits'>): Settlement {
  return { ...charge, takenAtUs: 0, usedBefore: 0 };
}
