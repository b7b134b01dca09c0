/** Explains a match: which descriptor of the configuration takes each entry of a request, and why the others do not. */

import { toGroup } from '../bucket/to-group';
import type { DeclaredLevel } from '../config/lint/declared-level';
import type { DescriptorSpec } from '../config/schema';
import { toByteString, toText } from '../descriptor/byte-string';
import type { Entry, RateLimitRequest } from '../descriptor/descriptor';
import { findChild, type DescriptorLevel, type DescriptorNode } from '../descriptor/tree';
import { compileWildcard, matchesWildcard } from '../descriptor/wildcard';
import type { InFlight } from '../rule/in-flight';
import { overdraftMaxOf, reservableMax, type Limit } from '../rule/limit';
import { matchRequest, type GlobalModes, type Match } from '../rule/match';
import type { Domain, RuleSet } from '../rule/rule-set';

/** Descriptors of one level that are named; of thousands nobody reads all. */
export const CANDIDATES_MAX = 20;

/** Text throughout: what is no UTF-8 shows as U+FFFD. */
export interface Explanation {
  readonly domain: string;
  readonly domainFound: boolean;
  readonly descriptors: readonly DescriptorExplanation[];
}

export interface DescriptorExplanation {
  readonly entries: readonly Entry[];
  /** One for each entry that was looked at: the first that nothing takes is the last. */
  readonly levels: readonly LevelExplanation[];
  readonly mode: Match['mode'];
  readonly unlimited: boolean;
  readonly limits: readonly LimitExplanation[];
  /** The limit is the caller's, in place of those of the rule. */
  readonly override: boolean;
  /** Limits of the rule that do not apply, since this override or another limit of the request replaces them. */
  readonly replaced: readonly string[];
  /** Why nothing limits it; absent if something does. */
  readonly notLimited?: string;
}

export interface LevelExplanation {
  readonly entry: Entry;
  readonly winner?: Candidate;
  /** Those that might have won come first. */
  readonly losers: readonly Candidate[];
  /** Further ones with this key that are not listed. */
  readonly omitted: number;
  /** Descriptors of other keys on this level. */
  readonly otherKeys: number;
}

export interface Candidate {
  readonly file: string;
  readonly line: number;
  readonly key: string;
  /** Absent: the key alone is configured. */
  readonly value?: string;
  readonly reason: string;
}

export interface LimitExplanation {
  readonly name: string;
  readonly requestsPerUnit: number;
  readonly unit: string;
  readonly unitMultiplier: number;
  readonly algorithm: string;
  /** Hits that fit at once. */
  readonly capacity: number;
  readonly calendar?: string;
  /** How many hits below zero a usage report may take the bucket; absent: the limit takes none. */
  readonly overdraftMax?: number;
  /** Of requests in flight: the key of the entry that tells them apart; absent: nothing does. */
  readonly id?: string;
  /** What the limit says of reservations; absent: nothing, so that the defaults hold. */
  readonly reservations?: { readonly maxShare: number; readonly onLapse: string; readonly hitsMax: number };
  readonly bucketKey: string;
}

export interface ExplainInput {
  readonly ruleSet: RuleSet;
  /** Every level of the rule set, as it is written. */
  readonly levels: ReadonlyMap<DescriptorLevel, DeclaredLevel>;
  readonly request: RateLimitRequest;
  readonly modes: GlobalModes;
  /** `CACHE_KEY_PREFIX`. */
  readonly keyPrefix: string;
  readonly nowUs: () => number;
}

/** What wins on each level, what limits, and the bucket keys are found by the code that decides requests. */
export function explainRequest({ ruleSet, levels, request, modes, keyPrefix, nowUs }: ExplainInput): Explanation {
  const domain = ruleSet.domains.get(request.domain);
  const matched = matchRequest({ ruleSet, request, modes });
  const { takes } = toGroup({ request, matched, keyPrefix, shadow: modes.shadow, nowUs });
  const descriptors = request.descriptors.map(({ entries, override }, index) => {
    const match = matched.matches[index];
    if (match === undefined) throw new Error('a descriptor without a match');
    const keys = takes.filter(({ descriptor }) => descriptor === index).map(({ bucketKey }) => bucketKey);
    const limits = match.limits.map((limit, at) => explainLimit(limit, { bucketKey: keys[at] ?? '', inFlight: match.inFlight }));
    const descent = domain === undefined ? NO_DESCENT : descend({ domain, levels, entries });
    const rule = descent.node?.rule;
    const replaced = (rule?.limits ?? []).filter((limit) => !match.limits.includes(limit)).map(({ name }) => name);
    const why = notLimited({ ruleSet, request, match, descent, replaced });
    return {
      entries: entries.map(entryText),
      levels: descent.levels,
      mode: match.mode,
      unlimited: match.unlimited,
      limits,
      override: override !== undefined && limits.length > 0,
      replaced,
      ...(why !== undefined && { notLimited: why }),
    };
  });
  return { domain: toText(request.domain), domainFound: domain !== undefined, descriptors };
}

function explainLimit(limit: Limit, { bucketKey, inFlight }: { readonly bucketKey: string; readonly inFlight: InFlight | undefined }): LimitExplanation {
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
  /** What takes the last entry. */
  readonly node?: DescriptorNode | undefined;
}

const NO_DESCENT: Descent = { levels: [] };

interface DescendInput {
  readonly domain: Domain;
  readonly levels: ExplainInput['levels'];
  readonly entries: readonly Entry[];
}

/** The steps of `findNode`, one level after the other. */
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

/** How a descriptor takes entries, in the order in which they are tried. */
const KINDS = ['exact', 'wildcard', 'key alone'] as const;

type Kind = (typeof KINDS)[number];

const WINS: Readonly<Record<Kind, string>> = {
  exact: 'has this very value',
  wildcard: 'is the first wildcard declared that takes it',
  'key alone': 'takes every value that nothing else takes',
};

const LOSES_TO: Readonly<Record<Kind, string>> = {
  exact: 'takes it too, but the very value wins',
  wildcard: 'takes it too, but a wildcard declared before it wins',
  'key alone': 'takes it too, and wins over all',
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
  if (own === 'key alone' && won === 'wildcard') return 'takes it too, but a wildcard wins over a key alone';
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

/** Why nothing limits the descriptor; undefined if something does, or if it is unlimited on purpose. */
function notLimited({ ruleSet, request, match, descent, replaced }: NotLimitedInput): string | undefined {
  if (match.limits.length > 0 || match.unlimited) return undefined;
  if (!ruleSet.domains.has(request.domain)) return `no domain of that name; there is ${domainNames(ruleSet)}`;
  if (replaced.length > 0) return 'each of its limits is replaced by another one of the request';
  const last = descent.levels.at(-1);
  if (last === undefined) return 'it has no entries';
  if (last.winner === undefined) {
    const { key, value } = last.entry;
    const isBelow = last.losers.length + last.omitted + last.otherKeys > 0;
    return isBelow ? `nothing takes ${key}=${value} on that level` : `nothing is configured below; a request with more entries than that is not limited`;
  }
  const isFurtherDown = descent.node !== undefined && hasNodes(descent.node.children);
  return isFurtherDown ? 'there are limits only further down, for requests with more entries' : 'no limit is configured there, so that it is let through';
}

/** The first few. */
function domainNames({ domains }: RuleSet): string {
  const names = Array.from(domains.keys(), toText);
  const shown = names.slice(0, CANDIDATES_MAX).join(', ');
  if (names.length === 0) return 'none at all';
  return names.length > CANDIDATES_MAX ? `${shown} and ${names.length - CANDIDATES_MAX} more` : shown;
}

function hasNodes({ byValue, wildcards, byKey }: DescriptorLevel): boolean {
  return byValue.size + wildcards.nodes.length + byKey.size > 0;
}

function entryText({ key, value }: Entry): Entry {
  return { key: toText(key), value: toText(value) };
}
