/** Finds the descriptors that deny a request. */

import type { DescriptorStatus } from '../../decide/decision';
import type { Limit } from '../../rule/limit';
import type { Match } from '../../rule/match';
import type { DecidedRequest } from './decided-request';

export interface Denial {
  readonly match: Match;
  readonly status: DescriptorStatus;
  /** The binding limit. */
  readonly limit: Limit;
}

/** Every enforced descriptor that is over, and the quota descriptors if all of them are; empty if the request is not denied. */
export function denialsOf({ matched: { matches }, decision }: DecidedRequest): Denial[] {
  const denials: Denial[] = [];
  for (const [index, status] of decision.statuses.entries()) {
    const match = matches[index];
    const { currentLimit: limit, denies } = status;
    if (denies && match !== undefined && limit !== undefined) denials.push({ match, status, limit });
  }
  return denials;
}

/** Whether the descriptor denies only together with all other quota descriptors. */
export function isQuota({ match }: Denial): boolean {
  return match.mode === 'quota';
}
