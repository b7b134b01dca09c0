/** A store that sends each group on its own: groups in different places do not wait for each other. */

import type { Group, Settlement } from '../../../domain/bucket/take';
import { storeErrorOf } from '../port/store-error';
import type { GroupOutcome, SettleOutcome, Store, TakeOptions } from '../port/store';
import { optionsOfGroup } from '../port/store';

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

  settle(settlements: readonly Settlement[], options?: TakeOptions): Promise<readonly SettleOutcome[]> {
    return this.store.settle(settlements, options);
  }

  close(): Promise<void> {
    return this.store.close();
  }
}
