/** A store that asks another for each group by itself: where groups lie in different places, none waits for those of others. */

import type { Group, Settlement } from '../bucket/take';
import { storeErrorOf } from './ask-by-part';
import type { GroupOutcome, SettleOutcome, Store, TakeOptions } from './store';

/** The groups of a call come from requests that know nothing of each other: all at once, in no order. */
export class OneByOneStore implements Store {
  constructor(private readonly store: Store) {}

  async take(groups: readonly Group[], options?: TakeOptions): Promise<readonly GroupOutcome[]> {
    if (groups.length === 1) return this.store.take(groups, options);
    const asked = groups.map((group) => this.store.take([group], options).catch((error: unknown) => [storeErrorOf(error)]));
    return (await Promise.all(asked)).flat();
  }

  settle(settlements: readonly Settlement[], options?: TakeOptions): Promise<readonly SettleOutcome[]> {
    return this.store.settle(settlements, options);
  }

  close(): Promise<void> {
    return this.store.close();
  }
}
