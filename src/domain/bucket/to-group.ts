/** Key: builds the takes of a matched request for the store. */

import type { Entry, RateLimitRequest } from '../descriptor/descriptor';
import { calendarEdgesUs, type Calendar } from '../descriptor/calendar';
import type { InFlight } from '../rule/in-flight';
import { overdraftMaxOf, windowName, type Limit } from '../rule/limit';
import type { Match, RequestMatch } from '../rule/match';
import { entriesOfOwner } from '../rule/pool';
import { countedEntries, memberEntries } from '../descriptor/last-entry';
import type { SharedEntry } from '../rule/shared-entry';
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
    const requested = descriptors[descriptor];
    const match = matches[descriptor];
    if (requested === undefined || match === undefined) continue;
    const { hits = request.hits } = requested;
    const entries = countedEntries(requested.entries, match);
    // Hits of the request apply to every descriptor alike: only a descriptor's own hits are a usage report.
    const mayReport = requested.hits !== undefined && requested.hits !== 0;
    const { mode } = match;
    if (match.quotaAlwaysFits) quotaAlwaysFits = true;
    const { rule, inFlight, pools } = match;
    // The limit of an override is a new object each time, so its heads are not cached.
    const known = rule === undefined ? undefined : heads;
    const shared = sharedOf(match);
    // Negative hits under such a rule mark the end of a request, and refund none of its rate limits.
    const isEnd = inFlight !== undefined && hits < 0;
    for (const limit of match.limits) {
      const isSlot = limit === inFlight?.limit;
      const pool = pools === undefined ? undefined : limit.pool;
      // The limit of the plan is one object for all owners, as the caches here and the commands of a store need it.
      const counted = pool === undefined ? limit : pool.limit;
      const key = bucketKey({
        prefix: keyPrefix,
        domain,
        // A share is where its whole limit is, also if the member's entry spreads the buckets of other descriptors.
        hashTag: limit.role === 'share' && match.fair?.entry === hashTag ? undefined : hashTag,
        entries:
          pool !== undefined ? entriesOfOwner(entries, pool) : limit.role === 'share' ? memberEntries(requested.entries, match) : entries,
        limit: counted,
        shared: isSlot ? inFlight.keyEntries : shared,
        heads: known,
      });
      const bucketLimit = toBucketLimit(counted, nowUs);
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
  if (matched.hasCandidates === true) addCandidates(takes, { request, matched, keyPrefix, heads, nowUs });
  return { takes, quotaAlwaysFits, shadow };
}

/** Takes of candidates are last, in the order of their limits: they only count, like those of a shadow rule. */
function addCandidates(takes: Take[], { request, matched, keyPrefix, heads, nowUs }: Omit<ToGroupInput, 'shadow'>): void {
  const { domain, descriptors } = request;
  const { matches, hashTag } = matched;
  for (const { descriptor, limit } of candidatesOf(matches)) {
    const { entries: sent = [], hits = request.hits, hits: own } = descriptors[descriptor] ?? {};
    const { rule, inFlight, reserve, fair } = matches[descriptor] ?? {};
    const entries = countedEntries(sent, { reserve, fair });
    const shared = sharedOf({ rule, inFlight });
    const key = bucketKey({ prefix: keyPrefix, domain, hashTag, entries, limit, shared, heads });
    const { failureMode = 'open' } = limit;
    const take: Take = { bucketKey: key, limit: toBucketLimit(limit, nowUs), hits, mode: 'shadow', descriptor, failureMode };
    const overdraftMax = own === undefined || own === 0 ? undefined : overdraftMaxOf(limit);
    if (inFlight !== undefined && hits < 0) takes.push(toPeek(take));
    else takes.push(overdraftMax === undefined ? take : { overdraftMax, ...take });
  }
}

/** A candidate of a limit that applies to a request. */
export interface AppliedCandidate {
  /** Index of its descriptor in the request. */
  readonly descriptor: number;
  readonly limit: Limit;
}

/** In the order of their takes, which follow those of all limits. */
export function candidatesOf(matches: readonly Match[]): AppliedCandidate[] {
  return matches.flatMap(({ limits }, descriptor) =>
    limits.flatMap(({ candidate }) => (candidate === undefined ? [] : [{ descriptor, limit: candidate }])),
  );
}

/** An id names one slot, whatever the number of hits. A release is a fact, like a usage report: it applies whatever the verdict. */
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

/** By entry, how the values of the match share buckets. */
export function sharedOf({ rule, inFlight }: Pick<Match, 'rule' | 'inFlight'>): readonly (SharedEntry | undefined)[] | undefined {
  if (inFlight === undefined) return rule?.shareThreshold;
  return rule === undefined ? inFlight.overrideEntries : inFlight.keyEntries;
}

/**
 * The entries that name the bucket of a limit: without the class of a reserve, with the owner of a pool in place of its member, and with
 * the member only for its share.
 */
export function bucketEntries(
  sent: readonly Entry[],
  match: Pick<Match, 'reserve' | 'fair'>,
  { pool, role }: Pick<Limit, 'pool' | 'role'>,
): readonly Entry[] {
  if (role === 'share') return memberEntries(sent, match);
  const entries = countedEntries(sent, match);
  return pool === undefined ? entries : entriesOfOwner(entries, pool);
}

interface ToGroupInput {
  readonly request: RateLimitRequest;
  readonly matched: RequestMatch;
  /** `CACHE_KEY_PREFIX`. */
  readonly keyPrefix: string;
  /** Cached heads of keys under this prefix. */
  readonly heads?: KeyHeads | undefined;
  /** `SHADOW_MODE`. */
  readonly shadow: boolean;
  /** The approximate time of the decision, which selects the calendar windows to name. */
  readonly nowUs: () => number;
}

/** The last edges of each window name: they stay the same for a whole window. */
const edgesOf = new Map<string, readonly number[]>();

/** Overrides may add window names; beyond this number, the cache starts again. */
const EDGES_MAX = 1_000;

/** The last bucket limit of each calendar limit: takes of the same window share the object, so a command contains it once. */
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
  const { algorithm, windowUs, requestsPerUnit, capacity, leases, reserved } = limit;
  const made = {
    algorithm,
    windowUs,
    requestsPerUnit,
    capacity,
    ...(leases && { leases }),
    ...(reserved !== undefined && { reserved }),
    edgesUs: edgesAround(calendar, windowName(limit), nowUs),
  };
  windowed.set(limit, made);
  return made;
}

function edgesAround(calendar: Calendar, name: string, nowUs: number): readonly number[] {
  const known = edgesOf.get(name);
  if (known !== undefined && isNow(known, nowUs)) return known;
  const edgesUs = calendarEdgesUs(calendar, nowUs);
  if (edgesOf.size >= EDGES_MAX) edgesOf.clear();
  edgesOf.set(name, edgesUs);
  return edgesUs;
}

/** Whether the time is in the middle one of the three windows. */
function isNow([, startUs = Infinity, endUs = 0]: readonly number[], nowUs: number): boolean {
  return startUs <= nowUs && nowUs < endUs;
}
