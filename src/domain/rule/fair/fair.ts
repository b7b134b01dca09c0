/** Fair: a limit that is divided by weight among the members that ask for it, so that none of them starves the others. */

import { toText } from '../../descriptor/byte-string';
import type { ByteString, Entry } from '../../descriptor/descriptor';
import { lastValue, type LastEntry } from '../../descriptor/last-entry';

/** Its last entry has the member. */
export interface Fair extends LastEntry {
  /** By member, a whole number from 1 to `WEIGHT_MAX`. Others have the weight 1. */
  readonly weights: ReadonlyMap<ByteString, number>;
}

export const WEIGHT_MAX = 1_000;

/** The member that all requests without an entry, or with several, are. */
export const NO_MEMBER: ByteString = '';

export function memberOf(fair: Fair, entries: readonly Entry[]): ByteString {
  return lastValue(fair, entries) ?? NO_MEMBER;
}

export function weightOf({ weights }: Pick<Fair, 'weights'>, member: ByteString): number {
  return weights.get(member) ?? 1;
}

/** `by tenant: acme 3, others 1`, as people read it. */
export function fairText({ entry, weights }: Pick<Fair, 'entry' | 'weights'>): string {
  const named = Array.from(weights, ([name, weight]) => `${toText(name)} ${weight}`).sort();
  return `by ${toText(entry)}: ${[...named, `${named.length === 0 ? 'all' : 'others'} 1`].join(', ')}`;
}
