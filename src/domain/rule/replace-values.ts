/** Makes a limit with values of control data. Everything that the values leave out stays as the limit has it. */

import { TRAITS } from '../algorithm/algorithms';
import type { LimitValues } from './control-view';
import { isLimitProblem, makeLimit, type Limit, type RateLimit } from './limit';
import type { Stage } from './stage/stage';

/** Undefined: the values make no limit of this algorithm. */
export function replaceValues(limit: RateLimit, values: LimitValues): RateLimit | undefined {
  const { requestsPerUnit, unit, unitMultiplier = 1, burst = burstOf(limit) } = values;
  const { name, algorithm, calendar } = limit;
  const calendarTimeZone = calendar?.timeZone;
  const made = makeLimit(
    { requestsPerUnit, unit, unitMultiplier, name, algorithm, calendarTimeZone, ...(burst !== undefined && { burst }) },
    limit,
  );
  if (isLimitProblem(made)) return undefined;
  const { candidate, role } = limit;
  if (role !== undefined) return { role, ...made };
  return candidate === undefined ? made : { candidate: withoutStage(candidate), ...made };
}

/** Values of control data win over the configuration, and so over the stage of a configured candidate, which is still counted. */
function withoutStage(candidate: Limit): Limit {
  if (candidate.stage === undefined) return candidate;
  const { stage, ...others } = candidate;
  return others;
}

/** The limit with a candidate of these values beside it; undefined: the values make no limit of this algorithm. */
export function tryValues(limit: RateLimit, values: LimitValues, stage?: Stage): RateLimit | undefined {
  const made = replaceValues(limit, values);
  if (made === undefined) return undefined;
  const { requestsPerUnit, unit, unitMultiplier, name, algorithm, windowUs, capacity, calendar, overdraft } = made;
  const { candidate: replaced, ...others } = limit;
  return {
    candidate: {
      requestsPerUnit,
      unit,
      unitMultiplier,
      name,
      algorithm,
      windowUs,
      capacity,
      failureMode: 'open',
      responseHeaders: 'off',
      role: 'candidate',
      ...(calendar && { calendar }),
      ...(overdraft && { overdraft }),
      ...(stage && { stage }),
    },
    ...others,
  };
}

/** The configured burst; undefined: none, so that the capacity follows the new limit. */
function burstOf({ algorithm, capacity, requestsPerUnit }: Limit): number | undefined {
  const { burst } = TRAITS[algorithm];
  return burst === undefined || capacity === burst.capacity(requestsPerUnit, undefined) ? undefined : burst.forCapacity(capacity);
}
