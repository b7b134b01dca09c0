/** A store that decides without its store when that can't: by the failure mode of each limit. */

import type { Group, GroupVerdict, Settlement, Take } from '../bucket/take';
import type { FailureMode } from '../rule/limit';
import { StoreError, type GroupOutcome, type SettleOutcome, type Store, type TakeOptions } from '../store/store';
import type { LastKnown } from './last-known';
import { LocalAccounts, type LocalAccountsOptions } from './local-accounts';

export interface FallbackOptions extends Omit<LocalAccountsOptions, 'store'> {
  /** Of takes that have none of their own. */
  readonly failureMode: FailureMode;
  /** Told of each group that was decided here, with the hits it let pass. */
  readonly onFallback: (passed: { readonly local: number; readonly open: number }) => void;
}

/**
 * A group that the store did not decide is decided here, all or nothing as ever: takes in mode `local` on this
 * instance's share of their limits, `open` ones always fit and `closed` ones never. If one of its takes is in mode
 * `unavailable`, the group fails.
 *
 * A call that is refused for overload fails as it is: saturation is shed, it never lets more pass. When the store decides
 * again, it is charged for what has passed here. It may have run a call that timed out: such hits count twice, never not.
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

  async take(groups: readonly Group[], options?: TakeOptions): Promise<readonly GroupOutcome[]> {
    const outcomes = await this.store.take(groups, options).catch((error: unknown) => {
      if (!(error instanceof StoreError)) throw error;
      return groups.map(() => error);
    });
    for (const [i, outcome] of outcomes.entries()) if ('verdicts' in outcome && outcome.cached !== true) this.hear(groups[i], outcome);
    if (!outcomes.some((outcome) => outcome instanceof StoreError)) return outcomes;
    return Promise.all(
      groups.map(async (group, i) => {
        const outcome = outcomes[i];
        if (outcome === undefined) throw new Error('the store answered fewer outcomes than groups');
        return outcome instanceof StoreError ? this.decide(group, outcome) : outcome;
      }),
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

  private hear(group: Group | undefined, { verdicts }: GroupVerdict): void {
    for (const [i, { bucketKey, limit }] of (group?.takes ?? []).entries()) {
      const verdict = verdicts[i];
      if (verdict !== undefined) this.lastKnown.hear(bucketKey, limit, verdict);
    }
    this.accounts.chargeBack();
  }

  private async decide(group: Group, error: StoreError): Promise<GroupOutcome> {
    const modeOf = ({ failureMode = this.options.failureMode }: Take) => failureMode;
    if (error.reason === 'overload' || group.takes.some((take) => modeOf(take) === 'unavailable')) return error;
    const takes = group.takes.map((take) => this.toFallbackTake(take, modeOf(take)));
    const [outcome] = await this.options.local.take([{ ...group, takes }]);
    const verdict = outcome !== undefined && 'verdicts' in outcome ? outcome : undefined;
    const passed = { local: 0, open: 0 };
    for (const [i, take] of group.takes.entries()) {
      const mode = modeOf(take);
      const passes = verdict?.overLimit === false && verdict.verdicts[i]?.fits === true;
      if (mode === 'local' && passes === take.hits < 0) this.accounts.release(take);
      if (passes && (mode === 'local' || mode === 'open')) passed[mode] += Math.max(0, take.hits);
    }
    if (verdict === undefined) return outcome ?? error;
    this.options.onFallback(passed);
    return { ...verdict, fallback: true };
  }

  private toFallbackTake(take: Take, mode: FailureMode): Take {
    switch (mode) {
      case 'open':
        // A peek: it always fits, and takes nothing.
        return { ...take, bucketKey: `${take.bucketKey}/open`, hits: Math.min(0, take.hits) };
      case 'closed':
        return { ...take, bucketKey: `${take.bucketKey}/closed`, limit: { ...take.limit, requestsPerUnit: 0, capacity: 0 } };
      case 'local':
      case 'unavailable':
        return this.accounts.toLocal(take);
    }
  }
}
