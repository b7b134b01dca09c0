/** Combines two stores: one counts the limits of one second, the other one all others. */

import { TRAITS } from '../../../domain/algorithm/algorithms';
import type { BucketLimit, Group, Adjustment } from '../../../domain/bucket/take';
import { askByPart } from './ask-by-part';
import type { GroupOutcome, AdjustOutcome, Store, TakeOptions } from '../port/store';
import { US_PER_S } from '../../../lib/time-units';

/** Whether the limit's bucket is in the store for limits of one second. Slots of requests in flight are not, so that a changed `hold` does not move them. */
export function isPerSecond({ algorithm, windowUs }: Pick<BucketLimit, 'algorithm' | 'windowUs'>): boolean {
  return windowUs === US_PER_S && TRAITS[algorithm].holds === 'hits';
}

/** All takes of a group must belong to one store, which `SplitStore` ensures. */
export class PerSecondStore implements Store {
  constructor(
    private readonly others: Store,
    private readonly perSecond: Store,
  ) {}

  take(groups: readonly Group[], options?: TakeOptions): Promise<readonly GroupOutcome[]> {
    const partOf = ({ takes: [first] }: Group) => this.storeOf(first?.limit);
    return askByPart<Group, GroupOutcome, Store>(groups, { partOf, ask: (store, some) => store.take(some, options) });
  }

  adjust(adjustments: readonly Adjustment[], options?: TakeOptions): Promise<readonly AdjustOutcome[]> {
    const partOf = ({ limit }: Adjustment) => this.storeOf(limit);
    return askByPart<Adjustment, AdjustOutcome, Store>(adjustments, { partOf, ask: (store, some) => store.adjust(some, options) });
  }

  async close(): Promise<void> {
    await Promise.all([this.others.close(), this.perSecond.close()]);
  }

  private storeOf(limit: BucketLimit | undefined): Store {
    return limit !== undefined && isPerSecond(limit) ? this.perSecond : this.others;
  }
}
