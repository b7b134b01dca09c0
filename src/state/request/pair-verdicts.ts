/** Pairs the requests of one call with the verdicts of the store, which only gets those with limits. */

import { NOTHING_TAKEN } from '../../domain/decide/to-decision';
import type { Group } from '../../domain/bucket/take';
import type { GroupOutcome } from '../store/port/store';
import type { Prepared } from './preparation';

/** The store's outcome for a request; undefined: none. */
export type StoreVerdict = GroupOutcome | Error | undefined;

/** The groups of requests with limits, in their order. */
export function groupsOf(prepared: readonly (Prepared | Error)[]): Group[] {
  const groups: Group[] = [];
  for (const each of prepared) if (isForStore(each)) groups.push(each.group);
  return groups;
}

/** The verdict for each request, also for those without limits. */
export function pairVerdicts(prepared: readonly (Prepared | Error)[], outcomes: readonly GroupOutcome[]): StoreVerdict[] {
  let next = -1;
  return prepared.map((each) => {
    if (!isForStore(each)) return NOTHING_TAKEN;
    next += 1;
    return outcomes[next];
  });
}

function isForStore(prepared: Prepared | Error): prepared is Prepared {
  return !(prepared instanceof Error) && prepared.group.takes.length > 0;
}
