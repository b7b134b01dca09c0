/** Key: the takes that a matched request asks of the store. */

import type { RateLimitRequest } from '../descriptor/descriptor';
import { calendarEdgesUs } from '../rule/calendar';
import { windowName, type Limit } from '../rule/limit';
import type { Match, RequestMatch } from '../rule/match';
import { bucketKey, type KeyHeads } from './bucket-key';
import type { BucketLimit, Group, Take } from './take';

/** One take for each limit of each descriptor, in their order. */
export function toGroup({ request, matched, keyPrefix, heads, shadow, nowUs }: ToGroupInput): Group {
  const { domain, descriptors } = request;
  const { matches, hashTag } = matched;
  const takes = new Array<Take>(countLimits(matches));
  let quotaAlwaysFits = false;
  let next = 0;
  for (let descriptor = 0; descriptor < descriptors.length; descriptor += 1) {
    const asked = descriptors[descriptor];
    const match = matches[descriptor];
    if (asked === undefined || match === undefined) continue;
    const { entries, hits = request.hits } = asked;
    const { mode } = match;
    if (match.quotaAlwaysFits) quotaAlwaysFits = true;
    const { rule } = match;
    const shared = rule?.shareThreshold;
    // The limit of an override is another object each time.
    const known = rule === undefined ? undefined : heads;
    for (const limit of match.limits) {
      const key = bucketKey({ prefix: keyPrefix, domain, hashTag, entries, limit, shared, heads: known });
      const take = { bucketKey: key, limit: toBucketLimit(limit, nowUs), hits, mode, descriptor };
      takes[next] = limit.failureMode === undefined ? take : { ...take, failureMode: limit.failureMode };
      next += 1;
    }
  }
  return { takes, quotaAlwaysFits, shadow };
}

function countLimits(matches: readonly Match[]): number {
  let count = 0;
  for (const { limits } of matches) count += limits.length;
  return count;
}

interface ToGroupInput {
  readonly request: RateLimitRequest;
  readonly matched: RequestMatch;
  /** `CACHE_KEY_PREFIX`. */
  readonly keyPrefix: string;
  /** Those known under this prefix. */
  readonly heads?: KeyHeads;
  /** `SHADOW_MODE`. */
  readonly shadow: boolean;
  /** About when the store will decide: the calendar windows around it are named to the store. */
  readonly nowUs: () => number;
}

/** The edges last asked for, of each window's name: they stay the same for a whole window. */
const edgesOf = new Map<string, readonly number[]>();

/** Callers may name windows of their own; beyond so many, all are computed anew. */
const EDGES_MAX = 1_000;

function toBucketLimit(limit: Limit, clockUs: () => number): BucketLimit {
  const { calendar } = limit;
  if (calendar === undefined) return limit;
  const nowUs = clockUs();
  const name = windowName(limit);
  const known = edgesOf.get(name);
  const [, startUs = Infinity, endUs = 0] = known ?? [];
  if (known !== undefined && startUs <= nowUs && nowUs < endUs) return { ...limit, edgesUs: known };
  const edgesUs = calendarEdgesUs(calendar, nowUs);
  if (edgesOf.size >= EDGES_MAX) edgesOf.clear();
  edgesOf.set(name, edgesUs);
  return { ...limit, edgesUs };
}
