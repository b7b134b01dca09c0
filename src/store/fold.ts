/** Folding: groups of one call that are the same, asked for as one. */

import type { Group } from '../bucket/take';
import { isFoldable } from '../engine/unfold';

/** One group, and its places in the call. */
export interface Fold {
  readonly group: Group;
  readonly places: number[];
}

/**
 * The groups in their order. What is the same object as one before joins it, if nothing in between has to do with its
 * buckets: so each is decided on what it would have been decided on.
 */
export function foldGroups(groups: readonly Group[]): readonly Fold[] {
  const folds: Fold[] = [];
  if (new Set(groups).size === groups.length) {
    for (const [place, group] of groups.entries()) folds.push({ group, places: [place] });
    return folds;
  }
  /** Those that may be joined. */
  const open = new Map<Group, Fold>();
  /** By bucket: the last one that has to do with it. */
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
