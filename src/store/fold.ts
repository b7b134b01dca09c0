/** Folding: groups of one call that are the same, asked for as one. */

import type { Group } from '../bucket/take';
import { isFoldable } from '../engine/unfold';

/** One group, and its places in the call. */
export interface Fold {
  readonly group: Group;
  readonly places: number[];
}

/** So many groups are compared each with each to find out whether one comes twice. */
const LOOKED_THROUGH_MAX = 100;

/**
 * The groups in their order. What is the same object as one before joins it, if nothing in between has to do with its
 * buckets: so each is decided on what it would have been decided on. Undefined, as mostly, if no group comes twice.
 */
export function foldGroups(groups: readonly Group[]): readonly Fold[] | undefined {
  if (!hasRepeats(groups)) return undefined;
  const folds: Fold[] = [];
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

/** A look through those that follow is faster than a Set as long as they are few, and leaves nothing behind. */
function hasRepeats(groups: readonly Group[]): boolean {
  if (groups.length > LOOKED_THROUGH_MAX) return new Set(groups).size < groups.length;
  for (let place = 0; place < groups.length - 1; place += 1) {
    const group = groups[place];
    if (group !== undefined && groups.includes(group, place + 1)) return true;
  }
  return false;
}
