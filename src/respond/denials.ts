/** Which descriptors of a request deny it. */

import type { DescriptorStatus } from '../engine/decision';
import type { Limit } from '../rule/limit';
import type { Match } from '../rule/match';
import type { Answered } from './answered';

export interface Denial {
  readonly match: Match;
  readonly status: DescriptorStatus;
  /** The one that binds. */
  readonly limit: Limit;
}

/** Every enforced one that is over, and the quota descriptors if all of them are; none if the request is not denied. */
export function denialsOf({ matched: { matches }, decision }: Answered): Denial[] {
  if (decision.overallCode === 'OK') return [];
  let quotaDenies = true;
  const over: Denial[] = [];
  for (const [index, status] of decision.statuses.entries()) {
    const match = matches[index];
    if (match === undefined) continue;
    const { currentLimit: limit, code } = status;
    if (match.quotaAlwaysFits || (match.mode === 'quota' && limit !== undefined && code === 'OK')) quotaDenies = false;
    if (limit !== undefined && code === 'OVER_LIMIT') over.push({ match, status, limit });
  }
  return quotaDenies ? over : over.filter(({ match }) => match.mode !== 'quota');
}
