/** Match: what each descriptor of a request is limited by. */

import type { Mode } from '../bucket/take';
import type { ByteString, Descriptor, LimitOverride, RateLimitRequest } from '../descriptor/descriptor';
import { findNode } from '../descriptor/tree';
import { toText } from '../descriptor/byte-string';
import { BadRequestError } from '../errors';
import { isLimitProblem, makeLimit, type Algorithm, type FailureMode, type Limit } from './limit';
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
  /** A quota descriptor that can't be over: then quota denies nothing in this request. */
  readonly quotaAlwaysFits: boolean;
  /** The name of what matched in statistics, one item per level; empty if nothing did. */
  readonly path: readonly string[];
  /** What says so; absent if nothing limits, or what the caller sent does. */
  readonly rule?: Rule | undefined;
}

/** One match for each descriptor, in their order, and whether the domain is known at all. */
export interface RequestMatch {
  readonly domainFound: boolean;
  /** The domain's. */
  readonly hashTag?: ByteString | undefined;
  readonly matches: readonly Match[];
}

/**
 * @throws BadRequestError if an override makes no limit
 */
export function matchRequest({ ruleSet, request, modes }: MatchInput): RequestMatch {
  const domain = ruleSet.domains.get(request.domain);
  const found = request.descriptors.map((descriptor, index) => matchDescriptor({ domain, descriptor, modes, index }));
  const replaces = found.some((each) => each.replaces.length > 0);
  const matches = replaces ? withoutReplaced(found, modes) : found.map(({ match }) => match);
  return { domainFound: domain !== undefined, hashTag: domain?.hashTag, matches };
}

/** What the matches are once the limits that others replace are taken out; where none is left, nothing limits. */
function withoutReplaced(found: readonly Found[], modes: GlobalModes): Match[] {
  const replaced = new Set(found.flatMap(({ replaces }) => replaces));
  return found.map(({ match }) => {
    const limits = match.limits.filter(({ name }) => !replaced.has(name));
    // Nothing replaces what is unlimited: there is no limit to take out.
    if (limits.length === 0 && !match.unlimited) return nothingLimits(modes);
    return { ...match, limits };
  });
}

interface MatchInput {
  readonly ruleSet: RuleSet;
  readonly request: RateLimitRequest;
  readonly modes: GlobalModes;
}

/** A match before `replaces` has been looked at. */
interface Found {
  readonly match: Match;
  readonly replaces: readonly string[];
}

const REPLACES_NONE: readonly string[] = [];

function nothingLimits(modes: GlobalModes): Match {
  return { limits: [], unlimited: false, mode: 'enforced', quotaAlwaysFits: modes.quota, path: [] };
}

function matchDescriptor({ domain, descriptor, modes, index }: MatchDescriptorInput): Found {
  const rule = domain === undefined ? undefined : findNode(domain.root, descriptor.entries)?.rule;
  if (domain !== undefined && descriptor.override !== undefined) {
    // An override takes the place of the rule, its modes included.
    const algorithm = rule?.limits[0]?.algorithm ?? domain.defaultAlgorithm;
    const failureMode = rule?.limits[0]?.failureMode ?? domain.failureMode;
    const { calendarMonth } = domain;
    const limit = overrideLimit({ override: descriptor.override, algorithm, calendarMonth, failureMode, index });
    const path = rule?.path ?? descriptor.entries.map((entry) => toText(entry.key));
    const mode = modes.quota ? 'quota' : 'enforced';
    return { match: { limits: [limit], unlimited: false, mode, quotaAlwaysFits: false, path }, replaces: REPLACES_NONE };
  }
  if (rule === undefined) return { match: nothingLimits(modes), replaces: REPLACES_NONE };
  const { limits, unlimited, path, replaces } = rule;
  const { mode, quotaAlwaysFits } = modeOf(rule, modes);
  return { match: { limits, unlimited, mode, quotaAlwaysFits, path, rule }, replaces };
}

interface MatchDescriptorInput {
  readonly domain: Domain | undefined;
  readonly descriptor: Descriptor;
  readonly modes: GlobalModes;
  readonly index: number;
}

function modeOf(rule: Rule, modes: GlobalModes): Pick<Match, 'mode' | 'quotaAlwaysFits'> {
  const quota = rule.quotaMode || modes.quota;
  if (rule.shadowMode) return { mode: 'shadow', quotaAlwaysFits: quota && !rule.unlimited };
  return { mode: quota ? 'quota' : 'enforced', quotaAlwaysFits: false };
}

function overrideLimit({ override, algorithm, calendarMonth, failureMode, index }: OverrideLimitInput): Limit {
  const calendarTimeZone = calendarMonth && override.unit === 'month' ? 'UTC' : undefined;
  const made = makeLimit({ ...override, algorithm, calendarTimeZone, failureMode });
  if (isLimitProblem(made)) throw new BadRequestError(`descriptors[${index}].limit.${made.field} ${made.message}`);
  return made;
}

interface OverrideLimitInput {
  readonly override: LimitOverride;
  readonly algorithm: Algorithm;
  readonly calendarMonth: boolean;
  readonly failureMode: FailureMode | undefined;
  readonly index: number;
}
