/** Folding: decides identical groups of one call in one step. */

import type { Group } from '../bucket/take';
import { isFoldable } from './unfold';

/** A group, and its indexes in the call. */
export interface Fold {
  readonly group: Group;
  readonly places: number[];
}

/** Up to this number, groups are compared in pairs to detect repetitions. */
const LOOKED_THROUGH_MAX = 100;

/**
 * Folds groups in their order. A group that is the same object as an earlier one joins it, if no group in between uses its
 * buckets, so that no verdict changes. Undefined, as in most calls, if no group is repeated.
 */
export function foldGroups(groups: readonly Group[]): readonly Fold[] | undefined {
  if (!hasRepeats(groups)) return undefined;
  const folds: Fold[] = [];
  /** Folds that later groups may join. */
  const open = new Map<Group, Fold>();
  /** By bucket: the last fold that uses it. */
  const lastOn = new Map<string, Fold>();
  for (const [place, group] of groups.entries()) {
    const same = open.get(group);
    if (same !== undefined) {
      same.places.push(place);
      continue;
    }
    const fold = { group, places: [place] };
    folds.push(fold);
    for (const { bucketKey } of group.takes) {
      const last = lastOn.get(bucketKey);
      if (last !== undefined) open.delete(last.group);
      lastOn.set(bucketKey, fold);
    }
    if (isFoldable(group)) open.set(group, fold);
  }
  return folds;
}

/** For few groups a linear search is faster than a Set, and leaves no garbage. */
function hasRepeats(groups: readonly Group[]): boolean {
  if (groups.length > LOOKED_THROUGH_MAX) return new Set(groups).size < groups.length;
  for (let place = 0; place < groups.length - 1; place += 1) {
    const group = groups[place];
    if (group !== undefined && groups.includes(group, place + 1)) return true;
  }
  return false;
}
