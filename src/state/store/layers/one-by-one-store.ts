/** A store that sends each group on its own: groups in different places do not wait for each other. */

import type { Group, Adjustment } from '../../../domain/bucket/take';
import { storeErrorOf } from '../port/store-error';
import { optionsOfGroup, type GroupOutcome, type AdjustOutcome, type Store, type TakeOptions } from '../port/store';

/** The groups of a call belong to independent requests, so they run concurrently and unordered. */
export class OneByOneStore implements Store {
  constructor(private readonly store: Store) {}

  async take(groups: readonly Group[], options: TakeOptions = {}): Promise<readonly GroupOutcome[]> {
    const [only] = groups;
    if (only !== undefined && groups.length === 1) return this.store.take(groups, optionsOfGroup(options, only));
    const answers = groups.map((group) =>
      this.store.take([group], optionsOfGroup(options, group)).catch((error: unknown) => [storeErrorOf(error)]),
    );
    return (await Promise.all(answers)).flat();
  }

  adjust(adjustments: readonly Adjustment[], options?: TakeOptions): Promise<readonly AdjustOutcome[]> {
    return this.store.adjust(adjustments, options);
  }

  close(): Promise<void> {
    return this.store.close();
  }
}
