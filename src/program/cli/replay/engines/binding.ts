/** Finds the descriptor that a denial is counted for. */

import { toDecision } from '../../../../domain/decide/to-decision';
import type { GroupVerdict } from '../../../../domain/bucket/take';
import type { RequestMatch } from '../../../../domain/rule/match';

/** The descriptor that denies and makes the caller wait longest; the first of several. */
export function bindingOf(matched: RequestMatch, verdict: GroupVerdict): number {
  const { statuses } = toDecision(matched, verdict, () => verdict.nowUs);
  let binding = 0;
  let longest = -1;
  for (const [i, { denies, neverFits, durationUntilResetUs = 0 }] of statuses.entries()) {
    const waitUs = neverFits === true ? Infinity : durationUntilResetUs;
    if (!denies || waitUs <= longest) continue;
    binding = i;
    longest = waitUs;
  }
  return binding;
}
