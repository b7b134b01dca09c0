/** Explains a match: which descriptor of the configuration matches each entry of a request, and why the others do not. */

import type { BucketAlgorithm } from '../algorithm/algorithms';
import { toGroup } from '../bucket/to-group';
import type { DeclaredLevel } from '../compile/lint/declared-level';
import type { DescriptorSpec } from '../compile/read/read-file';
import { toByteString, toText } from '../descriptor/byte-string';
import type { Entry, RateLimitRequest } from '../descriptor/descriptor';
import { findChild, type DescriptorLevel, type DescriptorNode } from '../rule/tree';
import { compileWildcard, matchesWildcard } from '../descriptor/wildcard';
import type { InFlight } from '../rule/in-flight';
import { overdraftMaxOf, reservableMax, type Limit } from '../rule/limit';
import { matchRequest, type GlobalModes, type Match, type MatchControl } from '../rule/match';
import type { Domain, RuleSet } from '../rule/rule-set';

/** The most descriptors of one level that are listed; readers stop long before thousands. */
export const CANDIDATES_MAX = 20;

/** All texts are Unicode: bytes that are not UTF-8 show as U+FFFD. */
export interface Explanation {
  readonly domain: string;
  readonly domainFound: boolean;
  readonly descriptors: readonly DescriptorExplanation[];
}

export interface DescriptorExplanation {
  readonly entries: readonly Entry[];
  /** One for each entry up to the first without a match. */
  readonly levels: readonly LevelExplanation[];
  readonly mode: Match['mode'];
  readonly unlimited: boolean;
  readonly limits: readonly LimitExplanation[];
  /** The limit is the request's override, not that of the rule. */
  readonly override: boolean;
  /** The plan whose limits apply; absent: the descriptor has no tenants. */
  readonly plan?: string;
  /** Limits of the rule that do not apply, because the override or another limit of the request replaces them. */
  readonly replaced: readonly string[];
  /** Why no limit applies; absent if one does. */
  readonly notLimited?: string;
}

export interface LevelExplanation {
  readonly entry: Entry;
  readonly winner?: Candidate;
  /** Descriptors that match come first. */
  readonly losers: readonly Candidate[];
  /** Further descriptors with this key that are not listed. */
  readonly omitted: number;
  /** Descriptors with other keys on this level. */
  readonly otherKeys: number;
}

export interface Candidate {
  readonly file: string;
  readonly line: number;
  readonly key: string;
  /** Absent: the descriptor has only a key. */
  readonly value?: string;
  readonly reason: string;
}

export interface LimitExplanation {
  readonly name: string;
  readonly requestsPerUnit: number;
  readonly unit: string;
  readonly unitMultiplier: number;
  readonly algorithm: BucketAlgorithm;
  /** Hits that may come at once. */
  readonly capacity: number;
  readonly calendar?: string;
  /** How far below zero usage reports may take the bucket; absent: they may not. */
  readonly overdraftMax?: number;
  /** For requests in flight: the key of the entry that identifies one; absent: no entry does. */
  readonly id?: string;
  /** The `reservations` fields of the limit; absent: the defaults apply. */
  readonly reservations?: { readonly maxShare: number; readonly onLapse: string; readonly hitsMax: number };
  readonly bucketKey: string;
  /** The limit that is tried beside it; absent: none. */
  readonly candidate?: LimitExplanation;
}

/** The part of control data that says which limits a rule of tenants has. */
export type PlansOfTenants = Pick<MatchControl, 'planOf' | 'planLimits'>;

export interface ExplainInput {
  readonly ruleSet: RuleSet;
  /** Every level of the rule set, as declared. */
  readonly levels: ReadonlyMap<DescriptorLevel, DeclaredLevel>;
  readonly request: RateLimitRequest;
  readonly modes: GlobalModes;
  /** `CACHE_KEY_PREFIX`. */
  readonly keyPrefix: string;
  readonly nowUs: () => number;
  /** The plans of tenants; absent: they have none, so their default plan applies. */
  readonly plans?: PlansOfTenants | undefined;
}

/** Uses the code that decides requests for winners, limits and bucket keys, so that the explanation cannot disagree with it. */
export function explainRequest({ ruleSet, levels, request, modes, keyPrefix, nowUs, plans }: ExplainInput): Explanation {
  const domain = ruleSet.domains.get(request.domain);
  const matched = matchRequest({ ruleSet, request, modes, control: plans && { ...ofTenants(plans), select: () => undefined } });
  const { takes } = toGroup({ request, matched, keyPrefix, shadow: modes.shadow, nowUs });
  const descriptors = request.descriptors.map(({ entries, override }, index) => {
    const match = matched.matches[index];
    if (match === undefined) throw new Error('a descriptor without a match');
    const keys = takes.filter(({ descriptor }) => descriptor === index).map(({ bucketKey }) => bucketKey);
    // The takes of candidates follow those of all limits.
    let nextCandidate = match.limits.length;
    const limits = match.limits.map((limit, at) => {
      const explained = explainLimit(limit, { bucketKey: keys[at] ?? '', inFlight: match.inFlight });
      if (limit.candidate === undefined) return explained;
      const candidate = explainLimit(limit.candidate, { bucketKey: keys[nextCandidate] ?? '', inFlight: undefined });
      nextCandidate += 1;
      return { ...explained, candidate };
    });
    const descent = domain === undefined ? NO_DESCENT : descend({ domain, levels, entries });
    const rule = match.rule ?? descent.node?.rule;
    const replaced = (rule?.limits ?? []).filter((limit) => !match.limits.includes(limit)).map(({ name }) => name);
    const why = notLimited({ ruleSet, request, match, descent, replaced });
    return {
      entries: entries.map(entryText),
      levels: descent.levels,
      mode: match.mode,
      unlimited: match.unlimited,
      limits,
      ...(match.plan && { plan: toText(match.plan.plan.name) }),
      override: override !== undefined && limits.length > 0,
      replaced,
      ...(why !== undefined && { notLimited: why }),
    };
  });
  return { domain: toText(request.domain), domainFound: domain !== undefined, descriptors };
}

function ofTenants(plans: PlansOfTenants): PlansOfTenants {
  return { planOf: (domain, tenant) => plans.planOf(domain, tenant), planLimits: (domain, plan) => plans.planLimits(domain, plan) };
}

function explainLimit(
  limit: Limit,
  { bucketKey, inFlight }: { readonly bucketKey: string; readonly inFlight: InFlight | undefined },
): LimitExplanation {
  const { name, requestsPerUnit, unit, unitMultiplier, algorithm, capacity, calendar, reservations } = limit;
  const overdraftMax = overdraftMaxOf(limit);
  const id = limit === inFlight?.limit ? inFlight.id?.key : undefined;
  const optional = {
    ...(calendar && { calendar: calendar.timeZone }),
    ...(overdraftMax !== undefined && { overdraftMax }),
    ...(id !== undefined && { id }),
    ...(reservations && { reservations: { ...reservations, hitsMax: reservableMax(limit) } }),
  };
  return { name, requestsPerUnit, unit, unitMultiplier, algorithm, capacity, ...optional, bucketKey };
}

interface Descent {
  readonly levels: readonly LevelExplanation[];
  /** The descriptor that matches the last entry. */
  readonly node?: DescriptorNode | undefined;
}

const NO_DESCENT: Descent = { levels: [] };

interface DescendInput {
  readonly domain: Domain;
  readonly levels: ExplainInput['levels'];
  readonly entries: readonly Entry[];
}

/** Follows the steps of `findNode`, level by level. */
function descend({ domain, levels, entries }: DescendInput): Descent {
  const explained: LevelExplanation[] = [];
  let level = domain.root;
  let node: DescriptorNode | undefined;
  for (const entry of entries) {
    node = findChild(level, entry);
    explained.push(explainLevel(levels.get(level), { entry, winner: node }));
    if (node === undefined) break;
    level = node.children;
  }
  return { levels: explained, node };
}

/** How a descriptor matches an entry, by precedence. */
const KINDS = ['exact', 'wildcard', 'key alone'] as const;

type Kind = (typeof KINDS)[number];

const WINS: Readonly<Record<Kind, string>> = {
  exact: 'exact match',
  wildcard: 'first declared wildcard that matches',
  'key alone': 'matches every value that nothing else matches',
};

const LOSES_TO: Readonly<Record<Kind, string>> = {
  exact: 'matches too, but an exact value wins',
  wildcard: 'matches too, but a wildcard declared earlier wins',
  'key alone': 'matches too, and wins',
};

interface Contender {
  readonly spec: DescriptorSpec;
  readonly node: DescriptorNode;
  readonly kind: Kind;
  readonly takes: boolean;
}

function explainLevel(
  declaredLevel: DeclaredLevel | undefined,
  { entry, winner }: { readonly entry: Entry; readonly winner: DescriptorNode | undefined },
): LevelExplanation {
  const declared = declaredLevel?.declared ?? [];
  const contenders: Contender[] = declared
    .filter(({ spec }) => takesKey(spec, entry))
    .map(({ spec, node }) => ({ spec, node, kind: kindOf(spec), takes: takesValue(spec, entry) }));
  const chances = contenders.filter(({ takes }) => takes).sort((one, other) => KINDS.indexOf(one.kind) - KINDS.indexOf(other.kind));
  const ordered = [...chances, ...contenders.filter(({ takes }) => !takes)];
  const won = ordered.find(({ node }) => node === winner);
  const toCandidate = ({ spec, kind, takes }: Contender, reason = takes ? losesTo(kind, won?.kind) : 'has another value'): Candidate => ({
    file: spec.problems.file,
    line: spec.problems.lineAt(spec.offset),
    key: spec.key,
    ...(spec.value !== '' && { value: spec.value }),
    reason,
  });
  const losers = ordered.filter((contender) => contender !== won);
  return {
    entry: entryText(entry),
    ...(won && { winner: toCandidate(won, WINS[won.kind]) }),
    losers: losers.slice(0, CANDIDATES_MAX).map((loser) => toCandidate(loser)),
    omitted: Math.max(0, losers.length - CANDIDATES_MAX),
    otherKeys: declared.length - contenders.length,
  };
}

function losesTo(own: Kind, won: Kind | undefined): string {
  if (own === 'key alone' && won === 'wildcard') return 'matches too, but a wildcard wins over a key alone';
  return LOSES_TO[won ?? own];
}

function kindOf({ key, value }: DescriptorSpec): Kind {
  if (key.includes('*') || value.includes('*')) return 'wildcard';
  return value === '' ? 'key alone' : 'exact';
}

function takesKey({ key }: DescriptorSpec, entry: Entry): boolean {
  return matchesWildcard(compileWildcard(toByteString(key)), entry.key);
}

function takesValue({ value }: DescriptorSpec, entry: Entry): boolean {
  return value === '' || matchesWildcard(compileWildcard(toByteString(value)), entry.value);
}

interface NotLimitedInput {
  readonly ruleSet: RuleSet;
  readonly request: RateLimitRequest;
  readonly match: Match;
  readonly descent: Descent;
  readonly replaced: readonly string[];
}

/** Why no limit applies; undefined if one does, or if the rule is unlimited on purpose. */
function notLimited({ ruleSet, request, match, descent, replaced }: NotLimitedInput): string | undefined {
  if (match.limits.length > 0 || match.unlimited) return undefined;
  if (!ruleSet.domains.has(request.domain)) return `the domain is not configured; configured domains: ${domainNames(ruleSet)}`;
  if (replaced.length > 0) return 'another limit of the request replaces each of its limits';
  const last = descent.levels.at(-1);
  if (last === undefined) return 'it has no entries';
  if (last.winner === undefined) {
    const { key, value } = last.entry;
    const isBelow = last.losers.length + last.omitted + last.otherKeys > 0;
    return isBelow
      ? `no descriptor on this level matches ${key}=${value}`
      : 'no deeper level is configured; requests with more entries are not limited';
  }
  const isFurtherDown = descent.node !== undefined && hasNodes(descent.node.children);
  return isFurtherDown
    ? 'only deeper levels have limits, for requests with more entries'
    : 'the matching descriptor has no limit, so the request is allowed';
}

/** Names of the first few domains. */
function domainNames({ domains }: RuleSet): string {
  const names = Array.from(domains.keys(), toText);
  const shown = names.slice(0, CANDIDATES_MAX).join(', ');
  if (names.length === 0) return 'none';
  return names.length > CANDIDATES_MAX ? `${shown} and ${names.length - CANDIDATES_MAX} more` : shown;
}

function hasNodes({ byValue, wildcards, byKey }: DescriptorLevel): boolean {
  return byValue.size + wildcards.nodes.length + byKey.size > 0;
}

function entryText({ key, value }: Entry): Entry {
  return { key: toText(key), value: toText(value) };
}
