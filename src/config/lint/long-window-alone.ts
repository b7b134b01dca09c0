/** Warns of a long window with no short one beside it: what is meant for a day may be gone in its first second. */

import type { Limit } from '../../rule/limit';
import { UNIT_US } from '../../rule/unit';
import { limitsOf, type Declared } from './declared-level';

/** Windows from here on are long. */
const LONG_WINDOW_US = UNIT_US.day;

/** Fewer hits than this do no harm at once. */
export const HITS_AT_ONCE_MIN = 100;

export function warnOfLongWindow(declared: Declared): void {
  const limits = limitsOf(declared);
  const isLong = limits.every(({ limit }) => limit.windowUs >= LONG_WINDOW_US);
  const [first] = limits;
  if (first === undefined || !isLong) return;
  const atOnce = Math.min(...limits.map(({ limit }) => limit.capacity));
  if (atOnce < HITS_AT_ONCE_MIN) return;
  const message = `lets ${atOnce} pass at once, and then none for long; ${adviceFor(first.limit)}`;
  first.spec.problems.warn({ rule: 'long-window-alone', offset: first.spec.offset, path: first.spec.path, message });
}

function adviceFor({ algorithm }: Limit): string {
  const companion = 'add a limit of a shorter window in rate_limits';
  return algorithm === 'token_bucket' ? `set a smaller burst, or ${companion}` : companion;
}
