/** A store that decides requests as a whole, or in parts while its server refuses to decide them as a whole. */

import type { Adjustment, Group } from '../../../domain/bucket/take';
import type { AdjustOutcome, GroupOutcome, Store, TakeOptions } from '../port/store';

export interface PartsIfNeededOptions {
  readonly whole: Store;
  /** The same store below a `SplitStore`. */
  readonly parts: Store;
  /** Asked for each call. */
  readonly areNeeded: () => boolean;
}

export class PartsIfNeeded implements Store {
  constructor(private readonly options: PartsIfNeededOptions) {}

  take(groups: readonly Group[], options?: TakeOptions): Promise<readonly GroupOutcome[]> {
    return this.chosen().take(groups, options);
  }

  adjust(adjustments: readonly Adjustment[], options?: TakeOptions): Promise<readonly AdjustOutcome[]> {
    return this.chosen().adjust(adjustments, options);
  }

  /** Both are one store. */
  close(): Promise<void> {
    return this.options.whole.close();
  }

  private chosen(): Store {
    const { whole, parts, areNeeded } = this.options;
    return areNeeded() ? parts : whole;
  }
}
