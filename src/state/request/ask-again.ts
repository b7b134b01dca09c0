/** Asks the store again if its clock is outside of the calendar windows of a group. */

import { isOutsideWindows } from '../../domain/bucket/take';
import { asError } from '../../lib/errors';
import { optionsOfGroup, type Store, type TakeOptions } from '../store/port/store';
import type { StoreVerdict } from './pair-verdicts';
import type { Preparation, Prepared } from './preparation';

/**
 * While the store is unavailable this process's clock decides, then the store's own clock. Each change between two clocks that
 * are far apart costs one more try.
 */
const ASKS_MAX = 4;

export interface AskAgainParts {
  readonly store: Store;
  readonly preparation: Preparation;
  readonly options: TakeOptions;
}

/** Replaces each such verdict by the verdict for windows around the store's own time, or by an error. */
export async function askAgain(
  prepared: readonly (Prepared | Error)[],
  verdicts: StoreVerdict[],
  { store, preparation, options }: AskAgainParts,
): Promise<void> {
  const again = verdicts.map(async (verdict, i) => {
    const each = prepared[i];
    if (!isOutsideWindows(verdict) || each === undefined || each instanceof Error) return;
    let outcome: StoreVerdict = verdict;
    for (let asks = 1; isOutsideWindows(outcome) && asks < ASKS_MAX; asks += 1) {
      const { outsideAtUs } = outcome;
      const group = preparation.groupAt(each.request, each.matched, () => outsideAtUs);
      [outcome] = await store.take([group], optionsOfGroup(options, each.group)).catch((error: unknown) => [asError(error)]);
    }
    verdicts[i] = isOutsideWindows(outcome) ? new Error(`the store asked for other calendar windows ${ASKS_MAX} times`) : outcome;
  });
  await Promise.all(again);
}
