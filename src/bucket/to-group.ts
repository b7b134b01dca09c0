/** Key: the takes that a matched request asks of the store. */

import type { RateLimitRequest } from '../descriptor/descriptor';
import { calendarEdgesUs, type Calendar } from '../rule/calendar';
import type { Limit } from '../rule/limit';
import type { RequestMatch } from '../rule/match';
import { bucketKey } from './bucket-key';
import type { BucketLimit, Group, Take } from './take';

/** One take for each limit of each descriptor, in their order. */
export function toGroup({ request, matched, keyPrefix, shadow, nowUs }: ToGroupInput): Group {
  const { domain, descriptors } = request;
  const takes: Take[] = [];
  for (const [descriptor, { entries, hits = request.hits }] of descriptors.entries()) {
    const match = matched.matches[descriptor];
    for (const limit of match?.limits ?? []) {
      const key = bucketKey({ prefix: keyPrefix, domain, entries, limit });
      takes.push({ bucketKey: key, limit: toBucketLimit(limit, nowUs), hits, mode: match?.mode ?? 'enforced', descriptor });
    }
  }
  return { takes, quotaAlwaysFits: matched.matches.some((match) => match.quotaAlwaysFits), shadow };
}

interface ToGroupInput {
  readonly request: RateLimitRequest;
  readonly matched: RequestMatch;
  /** `CACHE_KEY_PREFIX`. */
  readonly keyPrefix: string;
  /** `SHADOW_MODE`. */
  readonly shadow: boolean;
  /** About when the store will decide: the calendar windows around it are named to the store. */
  readonly nowUs: number;
}

/** The edges last asked for, of each calendar limit: they stay the same for a whole window. */
const edgesOf = new WeakMap<Calendar, readonly number[]>();

function toBucketLimit(limit: Limit, nowUs: number): BucketLimit {
  const { calendar } = limit;
  if (calendar === undefined) return limit;
  const known = edgesOf.get(calendar);
  const [, startUs = Infinity, endUs = 0] = known ?? [];
  const edgesUs = known !== undefined && startUs <= nowUs && nowUs < endUs ? known : calendarEdgesUs(calendar, nowUs);
  edgesOf.set(calendar, edgesUs);
  return { ...limit, edgesUs };
}
