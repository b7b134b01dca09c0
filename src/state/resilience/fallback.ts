/** A store that decides by the failure mode of each limit when its inner store cannot. */

import { isUsageReport, toPeek, type Group, type GroupVerdict, type Adjustment, type Take } from '../../domain/bucket/take';
import type { FailureMode } from '../../domain/rule/limit';
import type { GroupOutcome, AdjustOutcome, Store, TakeOptions } from '../store/port/store';
import { BucketError, StoreError } from '../store/port/store-error';
import type { StoreTrace } from '../store/port/store-trace';
import type { UsageSnapshot } from './usage-snapshot';
import { FallbackLedger, type FallbackLedgerOptions, type KeptAccount } from './fallback-ledger';

export interface FallbackOptions extends Omit<FallbackLedgerOptions, 'store'> {
  /** For limits without `failure_mode`. */
  readonly failureMode: FailureMode;
  /** Called for each group decided here, with the hits that it admitted. */
  readonly onFallback: (passed: { readonly local: number; readonly open: number }) => void;
  /** Called for each group that the store cannot decide although it decides others. */
  readonly onUndecided?: (error: BucketError) => void;
}

/**
 * A group that the store did not decide is decided here, all or nothing: takes in mode `local` use this
 * instance's share of their limits, `open` ones always fit and `closed` ones never do. If one of its takes is in mode
 * `unavailable`, the group fails.
 *
 * A call shed for overload fails unchanged, because saturation must not admit more. When the store decides
 * again, it is charged for the hits admitted here. It may also have run a call that timed out: the hits of such a
 * call may count twice, but are never lost, and its refunds apply at most once.
 */
export class FallbackStore implements Store {
  private readonly accounts: FallbackLedger;
  private readonly lastKnown: UsageSnapshot;

  constructor(
    private readonly store: Store,
    private readonly options: FallbackOptions,
  ) {
    this.accounts = new FallbackLedger({ ...options, store });
    this.lastKnown = options.lastKnown;
  }

  /** Not async: every call passes here, and promises are its main garbage. */
  take(groups: readonly Group[], options?: TakeOptions): Promise<readonly GroupOutcome[]> {
    return this.store.take(groups, options).then(
      (outcomes) => (this.recordAll(groups, outcomes) ? outcomes : this.decideAll(groups, outcomes, options)),
      (error: unknown) => {
        if (!(error instanceof StoreError)) throw error;
        return this.decideAll(
          groups,
          groups.map(() => error),
          options,
        );
      },
    );
  }

  adjust(adjustments: readonly Adjustment[], options?: TakeOptions): Promise<readonly AdjustOutcome[]> {
    return this.store.adjust(adjustments, options);
  }

  /** The store has shown that it is available: charges it even if no call passes here for a while. */
  chargeBack(): void {
    this.accounts.chargeBack();
  }

  /** The accounts that the next process goes on with. */
  kept(): Iterable<KeptAccount> {
    return this.accounts.kept();
  }

  /** Goes on with what another process kept, before the first call. */
  restore(accounts: readonly KeptAccount[]): void {
    for (const account of accounts) this.accounts.restore(account);
  }

  async close(): Promise<void> {
    await this.store.close();
    await this.options.local.close();
  }

  /** Records the outcomes. False if a group was not decided. */
  private recordAll(groups: readonly Group[], outcomes: readonly GroupOutcome[]): boolean {
    let isDecided = outcomes.length >= groups.length;
    let hasRecorded = false;
    const atMs = this.options.nowMs();
    for (let i = 0; i < outcomes.length; i += 1) {
      const outcome = outcomes[i];
      const group = groups[i];
      if (outcome instanceof StoreError) {
        isDecided = false;
        if (outcome instanceof BucketError) this.options.onUndecided?.(outcome);
      } else if (outcome !== undefined && group !== undefined && 'verdicts' in outcome && isOfStore(outcome)) {
        this.record(group, outcome, atMs);
        hasRecorded = true;
      }
    }
    if (hasRecorded) this.accounts.chargeBack();
    return isDecided;
  }

  private record({ takes }: Group, { verdicts }: GroupVerdict, atMs: number): void {
    for (let i = 0; i < takes.length; i += 1) {
      const take = takes[i];
      const verdict = verdicts[i];
      if (take !== undefined && verdict !== undefined) this.lastKnown.record(take.bucketKey, take.limit, verdict, atMs);
    }
  }

  private decideAll(
    groups: readonly Group[],
    outcomes: readonly GroupOutcome[],
    options: TakeOptions | undefined,
  ): Promise<readonly GroupOutcome[]> {
    return Promise.all(
      groups.map(async (group, i) => {
        const outcome = outcomes[i];
        if (outcome === undefined) throw new Error('the store answered fewer outcomes than groups');
        return outcome instanceof StoreError ? this.decideFailed(group, outcome, options?.trace) : outcome;
      }),
    );
  }

  /** Whether hits of the take are counted here. */
  isCounted({ failureMode = this.options.failureMode }: Pick<Take, 'failureMode'>): boolean {
    return failureMode === 'local';
  }

  /** Whether a call with the take fails as long as the store cannot decide. */
  isUnavailable({ failureMode = this.options.failureMode }: Pick<Take, 'failureMode'>): boolean {
    return failureMode === 'unavailable';
  }

  /** Decides a group that the store failed to decide with this error, without another call to it. */
  async decideFailed(group: Group, error: StoreError, trace: StoreTrace | undefined): Promise<GroupOutcome> {
    const modeOf = ({ failureMode = this.options.failureMode }: Take) => failureMode;
    if (error.reason === 'overload' || group.takes.some((take) => this.isUnavailable(take))) return error;
    const requested = error.mayHaveRun ? group.takes.map(withoutRefund) : group.takes;
    if (error.mayHaveRun) this.countLostRefunds(group);
    const takes = requested.map((take) => this.toFallbackTake(take, modeOf(take)));
    const [outcome] = await this.options.local.take([{ ...group, takes }]);
    const verdict = outcome !== undefined && 'verdicts' in outcome ? outcome : undefined;
    const passed = { local: 0, open: 0 };
    for (const [i, take] of requested.entries()) {
      const mode = modeOf(take);
      const { fits = false, remaining = Infinity, debt = 0, resetAfterUs = 0, cut = 0 } = verdict?.verdicts[i] ?? {};
      const isReport = mode === 'local' && isUsageReport(take);
      const passes = group.dry !== true && ((verdict?.overLimit === false && fits) || (verdict !== undefined && isReport));
      const { bucketKey } = take;
      const hits = take.hits - cut;
      const own = takes[i];
      if (mode === 'local' && own !== undefined) {
        const { bucketKey: localKey, limit } = own;
        this.accounts.decide({ bucketKey, localKey, capacity: limit.capacity, hits, passes, remaining, debt, resetAfterUs });
      }
      if (passes && (mode === 'local' || mode === 'open')) passed[mode] += Math.max(0, hits);
    }
    if (verdict === undefined) return outcome ?? error;
    this.options.onFallback(passed);
    trace?.onFallback(group, error.reason);
    return { fallback: true, ...verdict };
  }

  /** A refund with a lost reply is not sent again, because it would then give back hits of others. */
  private countLostRefunds({ takes }: Group): void {
    for (const take of takes) if (take.hits < 0 && this.isCounted(take)) this.options.onLost(-take.hits, 'refund');
  }

  private toFallbackTake(take: Take, mode: FailureMode): Take {
    switch (mode) {
      case 'open':
        return toPeek({ ...take, bucketKey: `${take.bucketKey}/open` });
      case 'closed':
        return withoutReport({ ...take, bucketKey: `${take.bucketKey}/closed`, limit: { ...take.limit, requestsPerUnit: 0, capacity: 0 } });
      case 'local':
      case 'unavailable':
        return this.accounts.toLocal(take);
    }
  }
}

/** A verdict from memory says nothing of the store now. */
function isOfStore({ cached, leased }: GroupVerdict): boolean {
  return cached !== true && leased !== true;
}

function withoutRefund(take: Take): Take {
  return take.hits < 0 ? toPeek(take) : take;
}

/** Charges nothing that outlasts the outage: a report is denied like any other take. */
function withoutReport(take: Take): Take {
  if (take.peek === true) return take;
  const { bucketKey, limit, hits, mode, descriptor } = take;
  return { bucketKey, limit, hits, mode, descriptor };
}
