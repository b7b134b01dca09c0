/** Match: what each descriptor of a request is limited by. */

import type { Mode } from '../bucket/take';
import type { ByteString, Descriptor, LimitOverride, RateLimitRequest } from '../descriptor/descriptor';
import { findNode } from '../descriptor/tree';
import { toText } from '../descriptor/byte-string';
import { BadRequestError } from '../errors';
import type { InFlight } from './in-flight';
import { isLimitProblem, isRateLimit, makeLimit, type Algorithm, type FailureMode, type Limit, type Overdraft, type ReservationTerms, type ResponseHeaders } from './limit';
import type { Rule } from './rule';
import type { Domain, RuleSet } from './rule-set';

/** The modes that hold for every request. */
export interface GlobalModes {
  /** `SHADOW_MODE`: nothing is denied. */
  readonly shadow: boolean;
  /** `QUOTA_MODE`: every descriptor counts as a quota descriptor. */
  readonly quota: boolean;
}

/** What one descriptor is limited by. */
export interface Match {
  /** All of them are enforced; none: the descriptor is answered OK, uncounted. */
  readonly limits: readonly Limit[];
  readonly unlimited: boolean;
  readonly mode: Mode;
  /** It counts as a quota descriptor and can't be over its limit. Quota descriptors deny only together, so they deny nothing in this request. */
  readonly quotaAlwaysFits: boolean;
  /** What matched, as statistics name it: one item per level, empty if nothing did. */
  readonly path: readonly string[];
  /** The rule that matched; absent if none did, or if a limit that the caller sent takes its place. */
  readonly rule?: Rule | undefined;
  /** Requests in flight, which a limit that the caller sent leaves as they are; absent: the rule does not count them. */
  readonly inFlight?: InFlight | undefined;
}

/** One match for each descriptor, in their order, and whether the domain is known at all. */
export interface RequestMatch {
  readonly domainFound: boolean;
  /** `hash_tag` of the domain. */
  readonly hashTag?: ByteString | undefined;
  readonly matches: readonly Match[];
}

/**
 * @throws BadRequestError if an override makes no limit
 */
export function matchRequest({ ruleSet, request, modes }: MatchInput): RequestMatch {
  const domain = ruleSet.domains.get(request.domain);
  const { descriptors } = request;
  const matches = new Array<Match>(descriptors.length);
  let replaces = false;
  for (let index = 0; index < descriptors.length; index += 1) {
    const descriptor = descriptors[index] ?? NO_ENTRIES;
    const match = domain === undefined ? nothingLimits(modes) : matchDescriptor({ domain, descriptor, modes, index });
    matches[index] = match;
    if (match.rule !== undefined && match.rule.replaces.length > 0) replaces = true;
  }
  return { domainFound: domain !== undefined, hashTag: domain?.hashTag, matches: replaces ? withoutReplaced(matches, modes) : matches };
}

const NO_ENTRIES: Descriptor = { entries: [] };

/** What the matches are once the limits that others replace are taken out; where none is left, nothing limits. */
function withoutReplaced(matches: readonly Match[], modes: GlobalModes): Match[] {
  const replaced = new Set(matches.flatMap(({ rule }) => rule?.replaces ?? []));
  return matches.map((match) => {
    const limits = match.limits.filter(({ name }) => !replaced.has(name));
    // Nothing replaces what is unlimited: there is no limit to take out.
    if (limits.length === 0 && !match.unlimited) return nothingLimits(modes, match.path);
    return { ...match, limits };
  });
}

/** The same without requests in flight, which hold no hits. */
export function rateLimitsOf(matched: RequestMatch): RequestMatch {
  if (matched.matches.every(({ inFlight }) => inFlight === undefined)) return matched;
  const { domainFound, hashTag, matches } = matched;
  return { domainFound, hashTag, matches: matches.map((match) => ({ ...match, limits: match.limits.filter(isRateLimit) })) };
}

interface MatchInput {
  readonly ruleSet: RuleSet;
  readonly request: RateLimitRequest;
  readonly modes: GlobalModes;
}

function nothingLimits(modes: GlobalModes, path: readonly string[] = []): Match {
  return { limits: [], unlimited: false, mode: 'enforced', quotaAlwaysFits: modes.quota, path };
}

function matchDescriptor({ domain, descriptor, modes, index }: MatchDescriptorInput): Match {
  const rule = findNode(domain.root, descriptor.entries)?.rule;
  if (descriptor.override !== undefined) {
    // An override takes the place of the rule, its modes included.
    const replaced = rule?.limits.find(isRateLimit);
    const algorithm = replaced?.algorithm ?? domain.defaultAlgorithm;
    const failureMode = replaced?.failureMode ?? domain.failureMode;
    const responseHeaders = replaced?.responseHeaders ?? domain.responseHeaders;
    const overdraft = replaced === undefined ? domain.defaultOverdraft : replaced.overdraft;
    const reservations = replaced?.reservations;
    const { calendarMonth } = domain;
    const limit = overrideLimit({ override: descriptor.override, algorithm, calendarMonth, failureMode, responseHeaders, overdraft, reservations, index });
    const path = rule?.path ?? descriptor.entries.map((entry) => toText(entry.key));
    const mode = modes.quota ? 'quota' : 'enforced';
    const inFlight = rule?.inFlight;
    if (inFlight === undefined) return { limits: [limit], unlimited: false, mode, quotaAlwaysFits: false, path };
    return { limits: [limit, inFlight.limit], unlimited: false, mode, quotaAlwaysFits: false, path, inFlight };
  }
  if (rule === undefined) return nothingLimits(modes);
  const { limits, unlimited, path, inFlight } = rule;
  const quota = rule.quotaMode || modes.quota;
  const mode = rule.shadowMode ? 'shadow' : quota ? 'quota' : 'enforced';
  return { limits, unlimited, mode, quotaAlwaysFits: rule.shadowMode && quota && !unlimited, path, rule, inFlight };
}

interface MatchDescriptorInput {
  readonly domain: Domain;
  readonly descriptor: Descriptor;
  readonly modes: GlobalModes;
  readonly index: number;
}

function overrideLimit({ override, algorithm, calendarMonth, failureMode, responseHeaders, overdraft, reservations, index }: OverrideLimitInput): Limit {
  const calendarTimeZone = calendarMonth && override.unit === 'month' ? 'UTC' : undefined;
  const made = makeLimit({ ...override, algorithm, calendarTimeZone, failureMode, responseHeaders, overdraft, reservations });
  if (isLimitProblem(made)) throw new BadRequestError(`descriptors[${index}].limit.${made.field} ${made.message}`);
  return made;
}

interface OverrideLimitInput {
  readonly override: LimitOverride;
  readonly algorithm: Algorithm;
  readonly calendarMonth: boolean;
  readonly failureMode: FailureMode | undefined;
  readonly responseHeaders: ResponseHeaders | undefined;
  readonly overdraft: Overdraft | undefined;
  readonly reservations: ReservationTerms | undefined;
  readonly index: number;
}