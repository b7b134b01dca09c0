/** Makes the limit that decides in a stage: the numbers of the candidate with the terms of its limit. */

import { windowName, type Limit } from './limit';

/** By the limit: the same object each time, because a store folds takes whose limits are the same object. */
const made = new WeakMap<Limit, Limit>();

/** The limit of each limit that was made. */
const bases = new WeakMap<Limit, Limit>();

/**
 * With the algorithm and the window of its limit it counts in the same bucket, so that used hits stay for everyone who moves. Otherwise it
 * counts in the bucket of the candidate, which has counted the same requests before.
 */
export function stagedLimit(limit: Limit, candidate: Limit): Limit {
  const known = made.get(limit);
  if (known !== undefined) return known;
  const { name, failureMode, responseHeaders, responseBody, leases, reservations } = limit;
  const { requestsPerUnit, unit, unitMultiplier, algorithm, windowUs, capacity, calendar, overdraft } = candidate;
  const staged: Limit = {
    requestsPerUnit,
    unit,
    unitMultiplier,
    name,
    algorithm,
    windowUs,
    capacity,
    ...(calendar && { calendar }),
    ...(overdraft && { overdraft }),
    ...(!keepsBucket(limit, candidate) && { role: 'candidate' as const }),
    ...(failureMode && { failureMode }),
    ...(responseHeaders && { responseHeaders }),
    ...(responseBody && { responseBody }),
    ...(leases && { leases }),
    ...(reservations && { reservations }),
  };
  made.set(limit, staged);
  bases.set(staged, limit);
  return staged;
}

/** Whether a request that moves between a limit and its candidate stays in its bucket. */
export function keepsBucket(limit: Limit, candidate: Limit): boolean {
  return limit.algorithm === candidate.algorithm && windowName(limit) === windowName(candidate);
}

/** The limit in whose place a limit decides in a stage; the limit itself if there is no stage. */
export function beforeStage(limit: Limit): Limit {
  return bases.get(limit) ?? limit;
}
