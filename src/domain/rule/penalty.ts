/** A penalty: entries that a rule denies too often are blocked for a time. */

import { DENIALS_ALGORITHM } from '../algorithm/algorithms';
import { isLimitProblem, makeLimit, type Limit } from './limit';

export interface Penalty {
  readonly denials: number;
  readonly withinS: number;
  readonly blockS: number;
  /** Counts the denials. */
  readonly limit: Limit;
}

/** Undefined if `denials` is 0. */
export function makePenalty({ denials, withinS, blockS }: Omit<Penalty, 'limit'>): Penalty | undefined {
  if (denials === 0) return undefined;
  const limit = makeLimit({
    requestsPerUnit: denials,
    unit: 'second',
    unitMultiplier: withinS,
    algorithm: DENIALS_ALGORITHM,
    failureMode: 'open',
  });
  return isLimitProblem(limit) ? undefined : { denials, withinS, blockS, limit: { role: 'penalty', ...limit } };
}
