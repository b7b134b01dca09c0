/** Finds the descriptor that a denial is counted for. */

import { decidingDescriptor } from '../../../../domain/decide/deciding-descriptor';
import { toDecision } from '../../../../domain/decide/to-decision';
import type { GroupVerdict } from '../../../../domain/bucket/take';
import type { RequestMatch } from '../../../../domain/rule/match';

export function bindingOf(matched: RequestMatch, verdict: GroupVerdict): number {
  return decidingDescriptor(toDecision(matched, verdict, () => verdict.nowUs).statuses);
}
