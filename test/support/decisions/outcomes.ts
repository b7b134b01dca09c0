/** What tests ask of a store's outcomes. */

import type { GroupVerdict } from '../../../src/domain/bucket/take';
import type { GroupOutcome, AdjustOutcome } from '../../../src/state/store/port/store';

/** The verdict of an outcome that must be one. */
export function decided(outcome: GroupOutcome | undefined): GroupVerdict {
  if (outcome === undefined) throw new Error('the store answered no outcome');
  if (outcome instanceof Error) throw outcome;
  if ('outsideAtUs' in outcome) throw new Error(`outside the windows named, at ${outcome.outsideAtUs}`);
  return outcome;
}

/** The hits that an adjustment applied, which must have been settled. */
export function hitsOf(outcome: AdjustOutcome | undefined): number {
  if (outcome === undefined) throw new Error('the store answered no outcome');
  if (outcome instanceof Error) throw outcome;
  return outcome;
}
