/** A store that decides without its store when that can't: by the failure mode of each limit. */

import { isUsageReport, toPeek, type Group, type GroupVerdict, type Settlement, type Take } from '../bucket/take';
import type { FailureMode } from '../rule/limit';
import { BucketError, StoreError, type GroupOutcome, type SettleOutcome, type Store, type TakeOptions } from '../store/store';
import type { LastKnown } from './last-known';
import { LocalAccounts, type LocalAccountsOptions } from './local-accounts';

export interface FallbackOptions extends Omit<LocalAccountsOptions, 'store'> {
  /** Of takes that have none of their own. */
  readonly failureMode: FailureMode;
  /** Told of each group that was decided here, with the hits it let pass. */
  readonly onFallback: (passed: { readonly local: number; readonly open: number }) => void;
  /** Told of each group that the store can't decide, though it decides others. */
  readonly onUndecided?: (error: BucketError) => void;
}

/**
 * A group that the store did not decide is decided here, all or nothing as ever: takes in mode `local` on this
 * instance's share of their limits, `open` ones always fit and `closed` ones never. If one of its takes is in mode
 * `unavailable`, the group fails.
 *
 * A call that is refused for overload fails as it is: saturation is shed, it never lets more pass. When the store decides
 * again, it is charged for what has passed here. It may have run a call that timed out: such hits count twice, never not, and such refunds
 * once at most.
 */
export class FallbackStore implements Store {
  private readonly accounts: LocalAccounts;
  private readonly lastKnown: LastKnown;

  constructor(
    private readonly store: Store,
    private readonly options: FallbackOptions,
  ) {
    this.accounts = new LocalAccounts({ ...options, store });
    this.lastKnown = options.lastKnown;
  }

  /** Not async: every call comes through here, and its promises are what it leaves behind. */
  take(groups: readonly Group[], options?: TakeOptions): Promise<readonly GroupOutcome[]> {
    return this.store.take(groups, options).then(
      (outcomes) => (this.hearAll(groups, outcomes) ? outcomes : this.decideFailed(groups, outcomes)),
      (error: unknown) => {
        if (!(error instanceof StoreError)) throw error;
        return this.decideFailed(groups, groups.map(() => error));
      },
    );
  }

  settle(settlements: readonly Settlement[], options?: TakeOptions): Promise<readonly SettleOutcome[]> {
    return this.store.settle(settlements, options);
  }

  /** The store has been seen to be there: it is charged, even if no call comes this way for a while. */
  chargeBack(): void {
    this.accounts.chargeBack();
  }

  async close(): Promise<void> {
    await this.store.close();
    await this.options.local.close();
  }

  /** Whether all of them were decided. */
  private hearAll(groups: readonly Group[], outcomes: readonly GroupOutcome[]): boolean {
    let isDecided = outcomes.length >= groups.length;
    let isHeard = false;
    const atMs = this.options.nowMs();
    for (let i = 0; i < outcomes.length; i += 1) {
      const outcome = outcomes[i];
      const group = groups[i];
      if (outcome instanceof StoreError) {
        isDecided = false;
        if (outcome instanceof BucketError) this.options.onUndecided?.(outcome);
      } else if (outcome !== undefined && group !== undefined && 'verdicts' in outcome && outcome.cached !== true) {
        this.hear(group, outcome, atMs);
        isHeard = true;
      }
    }
    if (isHeard) this.accounts.chargeBack();
    return isDecided;
  }

  private hear({ takes }: Group, { verdicts }: GroupVerdict, atMs: number): void {
    for (let i = 0; i < takes.length; i += 1) {
      const take = takes[i];
      const verdict = verdicts[i];
      if (take !== undefined && verdict !== undefined) this.lastKnown.hear(take.bucketKey, take.limit, verdict, atMs);
    }
  }

  private decideFailed(groups: readonly Group[], outcomes: readonly GroupOutcome[]): Promise<readonly GroupOutcome[]> {
    return Promise.all(
      groups.map(async (group, i) => {
        const outcome = outcomes[i];
        if (outcome === undefined) throw new Error('the store answered fewer outcomes than groups');
        return outcome instanceof StoreError ? this.decide(group, outcome) : outcome;
      }),
    );
  }

  private async decide(group: Group, error: StoreError): Promise<GroupOutcome> {
    const modeOf = ({ failureMode = this.options.failureMode }: Take) => failureMode;
    if (error.reason === 'overload' || group.takes.some((take) => modeOf(take) === 'unavailable')) return error;
    const asked = error.mayHaveRun ? group.takes.map(withoutRefund) : group.takes;
    const takes = asked.map((take) => this.toFallbackTake(take, modeOf(take)));
    const [outcome] = await this.options.local.take([{ ...group, takes }]);
    const verdict = outcome !== undefined && 'verdicts' in outcome ? outcome : undefined;
    const passed = { local: 0, open: 0 };
    for (const [i, take] of asked.entries()) {
      const mode = modeOf(take);
      const { fits = false, resetAfterUs = 0, cut = 0 } = verdict?.verdicts[i] ?? {};
      const isReport = mode === 'local' && isUsageReport(take);
      const passes = (verdict?.overLimit === false && fits) || (verdict !== undefined && isReport);
      const { bucketKey } = take;
      const hits = take.hits - cut;
      if (mode === 'local') this.accounts.decide({ bucketKey, localKey: takes[i]?.bucketKey ?? bucketKey, hits, passes, resetAfterUs });
      if (passes && (mode === 'local' || mode === 'open')) passed[mode] += Math.max(0, hits);
    }
    if (verdict === undefined) return outcome ?? error;
    this.options.onFallback(passed);
    return { fallback: true, ...verdict };
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

function withoutRefund(take: Take): Take {
  return take.hits < 0 ? toPeek(take) : take;
}

/** It charges nothing that outlasts the outage: a report is refused as any other take. */
function withoutReport(take: Take): Take {
  if (take.peek === true) return take;
  const { bucketKey, limit, hits, mode, descriptor } = take;
  return { bucketKey, limit, hits, mode, descriptor };
}
