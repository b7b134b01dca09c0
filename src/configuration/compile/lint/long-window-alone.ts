/** Warns of a long window without a shorter one: the limit of a day may be used up in its first second. */

import { TRAITS } from '../../../domain/algorithm/algorithms';
import type { Limit } from '../../../domain/rule/limit';
import { UNIT_US } from '../../../domain/descriptor/unit';
import type { DeclaredLimit } from './declared-level';

/** Windows of at least this length are long. */
const LONG_WINDOW_US = UNIT_US.day;

/** Fewer hits at once are harmless. */
export const HITS_AT_ONCE_MIN = 100;

export function warnOfLongWindow(limits: readonly DeclaredLimit[]): void {
  const isLong = limits.every(({ limit }) => limit.windowUs >= LONG_WINDOW_US);
  const [first] = limits;
  // To spend a budget at once is what prepaid means.
  if (first === undefined || !isLong || limits.some(({ limit }) => limit.unit === 'total')) return;
  const atOnce = Math.min(...limits.map(({ limit }) => limit.capacity));
  if (atOnce < HITS_AT_ONCE_MIN) return;
  const message = `lets ${atOnce} hits pass at once, and then none for a long time; ${adviceFor(first.limit)}`;
  first.spec.problems.warn({ rule: 'long-window-alone', offset: first.spec.offset, path: first.spec.path, message });
}

function adviceFor({ algorithm }: Limit): string {
  const companion = 'add a limit of a shorter window in rate_limits';
  return TRAITS[algorithm].burst !== undefined ? `set a smaller burst, or ${companion}` : companion;
}
