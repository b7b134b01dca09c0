/** Key: the takes that a matched request asks of the store. */

import type { Entry, RateLimitRequest } from '../descriptor/descriptor';
import { calendarEdgesUs, type Calendar } from '../rule/calendar';
import type { InFlight } from '../rule/in-flight';
import { overdraftMaxOf, windowName, type Limit } from '../rule/limit';
import type { Match, RequestMatch } from '../rule/match';
import { bucketKey, type KeyHeads } from './bucket-key';
import { slotIdOf } from './slot-id';
import { toPeek, type BucketLimit, type Group, type Take } from './take';

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
    // Hits of the request are the same for every descriptor: only a descriptor's own say what was used.
    const mayReport = asked.hits !== undefined && asked.hits !== 0;
    const { mode } = match;
    if (match.quotaAlwaysFits) quotaAlwaysFits = true;
    const { rule, inFlight } = match;
    // The limit of an override is another object each time.
    const known = rule === undefined ? undefined : heads;
    const shared = inFlight === undefined ? rule?.shareThreshold : rule === undefined ? inFlight.overrideEntries : inFlight.keyEntries;
    // Negative hits under such a rule mark the end of a request: they refund none of its rate limits.
    const isEnd = inFlight !== undefined && hits < 0;
    for (const limit of match.limits) {
      const isSlot = limit === inFlight?.limit;
      const key = bucketKey({ prefix: keyPrefix, domain, hashTag, entries, limit, shared: isSlot ? inFlight.keyEntries : shared, heads: known });
      const bucketLimit = toBucketLimit(limit, nowUs);
      const { failureMode } = limit;
      const overdraftMax = mayReport && !isEnd ? overdraftMaxOf(limit) : undefined;
      const take: Take =
        failureMode === undefined
          ? { bucketKey: key, limit: bucketLimit, hits, mode, descriptor }
          : { bucketKey: key, limit: bucketLimit, hits, mode, descriptor, failureMode };
      if (isSlot) takes[next] = slotTake(take, slotIdIn(entries, inFlight));
      else if (isEnd) takes[next] = toPeek(take);
      else takes[next] = overdraftMax === undefined ? take : { overdraftMax, ...take };
      next += 1;
    }
  }
  return { takes, quotaAlwaysFits, shadow };
}

/** An id names one slot, however many hits come with it. A release tells a fact, as a usage report does: it holds whatever the answer is. */
function slotTake(take: Take, slotId: string | undefined): Take {
  const { bucketKey, limit, mode, descriptor, failureMode } = take;
  const hits = slotId === undefined ? take.hits : Math.sign(take.hits);
  return {
    bucketKey,
    limit,
    hits,
    mode,
    descriptor,
    ...(failureMode !== undefined && { failureMode }),
    ...(slotId !== undefined && { slotId }),
    ...(hits < 0 && { overdraftMax: 0 }),
  };
}

function slotIdIn(entries: readonly Entry[], { id }: InFlight): string | undefined {
  const entry = id === undefined ? undefined : entries[id.level];
  return entry === undefined ? undefined : slotIdOf(entry.value);
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
  /** The beginnings of keys that are known under this prefix. */
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

/** What was last asked of the store for a limit of a calendar: takes of the same window say the same object, and a command says it once. */
const windowed = new WeakMap<Limit, WindowedLimit>();

interface WindowedLimit extends BucketLimit {
  readonly edgesUs: readonly number[];
}

function toBucketLimit(limit: Limit, clockUs: () => number): BucketLimit {
  const { calendar } = limit;
  if (calendar === undefined) return limit;
  const nowUs = clockUs();
  const last = windowed.get(limit);
  if (last !== undefined && isNow(last.edgesUs, nowUs)) return last;
  const { algorithm, windowUs, requestsPerUnit, capacity } = limit;
  const asked = { algorithm, windowUs, requestsPerUnit, capacity, edgesUs: edgesAround(calendar, windowName(limit), nowUs) };
  windowed.set(limit, asked);
  return asked;
}

function edgesAround(calendar: Calendar, name: string, nowUs: number): readonly number[] {
  const known = edgesOf.get(name);
  if (known !== undefined && isNow(known, nowUs)) return known;
  const edgesUs = calendarEdgesUs(calendar, nowUs);
  if (edgesOf.size >= EDGES_MAX) edgesOf.clear();
  edgesOf.set(name, edgesUs);
  return edgesUs;
}

/** Whether it is the middle one of the three windows. */
function isNow([, startUs = Infinity, endUs = 0]: readonly number[], nowUs: number): boolean {
  return startUs <= nowUs && nowUs < endUs;
}
