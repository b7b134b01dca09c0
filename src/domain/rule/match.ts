/** Match: finds the limits of each descriptor of a request. */

import { REFERENCE_ALGORITHM } from '../algorithm/algorithms';
import { refusalOf, type Refusal } from '../descriptor/admission';
import type { ByteString, Descriptor, Entry, LimitOverride, RateLimitRequest } from '../descriptor/descriptor';
import { UNIT_US } from '../descriptor/unit';
import { overrideLimits } from './apply-override';
import { choosePlan, type PlanInForce } from './choose-plan';
import type { ControlView, SelectedRecord } from './control-view';
import { findNode } from './tree';
import { toText } from '../descriptor/byte-string';
import { BadRequestError } from '../../lib/errors';
import { memberOf, weightOf, type Fair } from './fair/fair';
import { beforeShare, isDivided, shareLimit } from './share';
import type { WaterLevel } from './fair/water-level';
import { reservedInFlight, type InFlight } from './in-flight';
import { poolsInForce, type Pools, type PoolsInForce } from './pool';
import { isLimitProblem, isRateLimit, makeLimit, reservedLimit, type Limit, type RateLimit } from './limit';
import type { Mode } from './mode';
import { ByPart } from './reserve/by-part';
import { partKept, type Reserve } from './reserve/reserve';
import type { Rule } from './rule';
import type { StageInForce } from './stage/stage';
import { stageLimits } from './stage-limits';
import type { Domain, RuleSet } from './rule-set';

/** Modes for every request. */
export interface GlobalModes {
  /** `SHADOW_MODE`: nothing is denied. */
  readonly shadow: boolean;
  /** `QUOTA_MODE`: every descriptor counts as a quota descriptor. */
  readonly quota: boolean;
}

/** The limits of one descriptor. */
export interface Match {
  /** All of them apply; empty: the descriptor is answered OK and not counted. */
  readonly limits: readonly Limit[];
  readonly unlimited: boolean;
  readonly mode: Mode;
  /** A quota descriptor that cannot be over. Quota descriptors deny only if all are over, so quota denies nothing in this request. */
  readonly quotaAlwaysFits: boolean;
  /** The matched rule in the names of statistics: one item for each level, empty without a match. */
  readonly path: readonly string[];
  /** The matched rule; absent without a match, or if an override replaces it. */
  readonly rule?: Rule | undefined;
  /** The limit on requests in flight, which an override does not replace; absent: the rule does not count them. */
  readonly inFlight?: InFlight | undefined;
  /** The reserve of the rule, which an override does not replace; absent: the rule has none. */
  readonly reserve?: Reserve | undefined;
  /** How the rule divides its limits; absent: it does not. The shares of the member are after the limits of the rule. */
  readonly fair?: Fair | undefined;
  /** The plan of the tenant; absent: the rule has no plans. */
  readonly plan?: PlanInForce | undefined;
  /** The pools of the tenant and of those above it; absent: there are none. Their limits are last. */
  readonly pools?: Pools | undefined;
  /** A candidate decides a part of the requests; absent: none does. */
  readonly stage?: StageInForce | undefined;
  /** The records of control data that decided this match; absent: none. */
  readonly control?: readonly SelectedRecord[] | undefined;
  /** Denies the whole request. */
  readonly block?: Block | undefined;
}

/** A block of control data or a refusal of the domain, as the answer shows it. */
export interface Block {
  /** A limit of 0. */
  readonly limit: Limit;
  /** When it ends, in microseconds since 1970; absent: it has no end. */
  readonly untilUs?: number;
  /** The domain refuses the request; absent: a record of control data blocks it. */
  readonly refusal?: Refusal;
}

/** One match for each descriptor, in their order, and whether the domain is known. */
export interface RequestMatch {
  readonly domainFound: boolean;
  /** `hash_tag` of the domain. */
  readonly hashTag?: ByteString | undefined;
  readonly matches: readonly Match[];
  /** A limit of the domain, or an override of this request, has a candidate. Absent: none does. */
  readonly hasCandidates?: true | undefined;
  /** A block or a refusal denies it: only refunds, releases and usage reports are left to count. Absent: none does. */
  readonly blocked?: true | undefined;
  /** The domain refuses it, or would without `SHADOW_MODE`. Absent: it does not. */
  readonly refusal?: Refusal | undefined;
}

/**
 * @throws BadRequestError if an override is invalid
 */
export function matchRequest({ ruleSet, request, modes, control, fair, admitsAll }: MatchInput): RequestMatch {
  const domain = ruleSet.domains.get(request.domain);
  const { descriptors } = request;
  const matches = new Array<Match>(descriptors.length);
  let replaces = false;
  let hasCandidates = domain?.hasCandidates === true;
  let blocks: Map<number, Denying> | undefined;
  for (let index = 0; index < descriptors.length; index += 1) {
    const descriptor = descriptors[index] ?? NO_ENTRIES;
    let match = domain === undefined ? nothingLimits(modes) : matchDescriptor({ domain, descriptor, modes, index, control });
    const selection = control?.select(request.domain, descriptor.entries);
    if (selection !== undefined) {
      // A refund or a release takes nothing, so there is nothing to deny.
      const isAdmission = (descriptor.hits ?? request.hits) >= 0;
      if (selection.block !== undefined && isAdmission) (blocks ??= new Map()).set(index, { record: selection.block });
      else if (selection.pass !== undefined) match = passed(match, selection.pass);
      else if (match.rule !== undefined && selection.overrides.length > 0) {
        const overridden = overrideLimits(match.limits, selection);
        const { limits, applied } = overridden;
        if (applied.length > 0) match = changed(match, { limits, control: applied });
        if (overridden.hasCandidates) hasCandidates = true;
      }
    }
    if (hasCandidates && match.rule !== undefined && !match.unlimited) match = inStage(match, descriptor, control);
    if (match.pools !== undefined) {
      const inPools = withPools(match, { pools: match.pools, request, descriptor, control, modes });
      if (inPools.block !== undefined && blocks?.has(index) !== true) (blocks ??= new Map()).set(index, { record: inPools.block });
      ({ match } = inPools);
    }
    if (match.reserve !== undefined) match = inClass(match, match.reserve, descriptor);
    if (match.fair !== undefined)
      match = withShares(match, { fair: match.fair, request, hashTag: domain?.hashTag, descriptor, levels: fair });
    matches[index] = match;
    if (match.rule !== undefined && match.rule.replaces.length > 0) replaces = true;
  }
  // A block says more than a refusal.
  const refusal =
    domain?.admission === undefined || blocks !== undefined || admitsAll === true
      ? undefined
      : refusalOf(domain.admission, request, matches);
  if (refusal !== undefined) blocks = new Map([[refusal.descriptor, { refusal }]]);
  const counted = replaces ? withoutReplaced(matches, modes) : matches;
  return {
    domainFound: domain !== undefined,
    hashTag: domain?.hashTag,
    matches: blocks === undefined ? counted : blocked(counted, { blocks, request, modes }),
    hasCandidates: hasCandidates ? true : undefined,
    blocked: blocks === undefined || modes.shadow ? undefined : true,
    refusal,
  };
}

function inStage(match: Match, { entries }: Descriptor, control: MatchControl | undefined): Match {
  const staged = stageLimits({ limits: match.limits, entries, shared: match.rule?.shareThreshold ?? [], control });
  return staged === undefined ? match : changed(match, { limits: staged.limits, stage: staged.inForce });
}

interface WithPoolsInput {
  readonly pools: Pools;
  readonly request: RateLimitRequest;
  readonly descriptor: Descriptor;
  readonly control: MatchControl | undefined;
  readonly modes: GlobalModes;
}

/** The match with the limits of its pools, and the block of a tenant above. */
function withPools(match: Match, { pools, request, descriptor, control, modes }: WithPoolsInput) {
  const { block, limits, applied } = poolsInForce({ pools, domain: request.domain, entries: descriptor.entries, control });
  // A pass makes the member unlimited, and none of its hits count.
  const isCounted = limits.length > 0 && match.control?.[0]?.kind !== 'pass';
  const isAdmission = (descriptor.hits ?? request.hits) >= 0;
  return {
    match: isCounted ? pooled(match, { limits, applied, modes }) : match,
    block: isAdmission ? block : undefined,
  };
}

interface PooledInput extends Pick<PoolsInForce, 'limits' | 'applied'> {
  readonly modes: GlobalModes;
}

/** Also a tenant whose own plan is unlimited is limited by a pool. */
function pooled(match: Match, { limits, applied, modes }: PooledInput): Match {
  const all = match.limits.length === 0 ? limits : [...match.limits, ...limits];
  const quotaAlwaysFits = match.rule?.shadowMode === true && (match.rule.quotaMode || modes.quota);
  if (applied.length === 0) return changed(match, { limits: all, unlimited: false, quotaAlwaysFits });
  return changed(match, { limits: all, unlimited: false, quotaAlwaysFits, control: [...(match.control ?? []), ...applied] });
}

const reservedLists = new ByPart<readonly Limit[], readonly Limit[]>((limits, part) => limits.map((limit) => reservedLimit(limit, part)));

/** With the limits of the request's class, those of pools too. */
function inClass(match: Match, reserve: Reserve, { entries }: Descriptor): Match {
  const part = partKept(reserve, entries);
  const inFlight = match.inFlight && reservedInFlight(match.inFlight, part);
  return changed(match, { limits: reservedLists.of(match.limits, part), inFlight });
}

interface WithSharesInput {
  readonly fair: Fair;
  readonly request: RateLimitRequest;
  readonly hashTag: ByteString | undefined;
  readonly descriptor: Descriptor;
  readonly levels: FairLevels | undefined;
}

/** With the shares of the request's member. Without limits of the rule, as under a pass, there is nothing to divide. */
function withShares(match: Match, { fair, request, hashTag, descriptor, levels }: WithSharesInput): Match {
  if (match.rule === undefined) return match;
  const { entries } = descriptor;
  const weight = weightOf(fair, memberOf(fair, entries));
  const shares = match.limits.filter(isDivided).map((limit) => {
    const level = levels?.levelOf({ domain: request.domain, hashTag, entries, match, limit });
    return shareLimit(limit, weight, level);
  });
  return shares.length === 0 ? match : changed(match, { limits: [...match.limits, ...shares] });
}

type Changes = Pick<Match, 'limits'> & Partial<Omit<Match, 'limits' | 'rule' | 'reserve' | 'fair'>>;

/** A copy, field by field: a spread takes several times as long, and V8 of Node 20 gives each of its objects a hidden class of its own. */
function changed(match: Match, changes: Changes): Match {
  return {
    limits: changes.limits,
    unlimited: changes.unlimited ?? match.unlimited,
    mode: changes.mode ?? match.mode,
    quotaAlwaysFits: changes.quotaAlwaysFits ?? match.quotaAlwaysFits,
    path: changes.path ?? match.path,
    rule: match.rule,
    inFlight: changes.inFlight ?? match.inFlight,
    reserve: match.reserve,
    fair: match.fair,
    plan: changes.plan ?? match.plan,
    pools: changes.pools ?? match.pools,
    stage: changes.stage ?? match.stage,
    control: changes.control ?? match.control,
    block: changes.block ?? match.block,
  };
}

/** Requests in flight are still counted, because their ends are, but not denied. */
function passed(match: Match, pass: SelectedRecord): Match {
  const limits = match.limits.filter((limit) => limit === match.inFlight?.limit);
  return changed(match, { limits, unlimited: true, mode: 'shadow', quotaAlwaysFits: false, control: [pass] });
}

/** Denies a descriptor, and so its request. */
type Denying = { readonly record: SelectedRecord } | { readonly refusal: Refusal };

interface BlockedInput {
  /** By the index of the descriptor. */
  readonly blocks: ReadonlyMap<number, Denying>;
  readonly request: RateLimitRequest;
  readonly modes: GlobalModes;
}

/** Only the facts of a denied request count: what was used, given back or released. In shadow mode nothing is denied, and everything counts. */
function blocked(matches: readonly Match[], { blocks, request, modes }: BlockedInput): Match[] {
  return matches.map((match, index) => {
    const descriptor = request.descriptors[index] ?? NO_ENTRIES;
    const limits = modes.shadow ? match.limits : factsOf(match, { descriptor, request });
    const denying = blocks.get(index);
    if (denying === undefined) return changed(match, { limits });
    if ('refusal' in denying) {
      const { refusal } = denying;
      return changed(match, {
        limits,
        mode: 'enforced',
        quotaAlwaysFits: false,
        block: { limit: REFUSAL_LIMITS[refusal.reason], refusal },
      });
    }
    const { record } = denying;
    const path = match.path.length > 0 ? match.path : keysOf(descriptor);
    const block = record.untilUs === undefined ? { limit: BLOCK_LIMIT } : { limit: BLOCK_LIMIT, untilUs: record.untilUs };
    return changed(match, { limits, mode: 'enforced', quotaAlwaysFits: false, path, control: [record], block });
  });
}

interface FactsInput {
  readonly descriptor: Descriptor;
  readonly request: RateLimitRequest;
}

function factsOf({ limits }: Match, { descriptor: { hits: own }, request }: FactsInput): readonly Limit[] {
  if ((own ?? request.hits) < 0) return limits;
  return own === undefined || own === 0 ? [] : limits.filter(({ overdraft }) => overdraft !== undefined);
}

/** The limit that the answer to a blocked request shows. */
const BLOCK_LIMIT = denyingLimit('block');

/** The same for a refused request. */
const REFUSAL_LIMITS: Readonly<Record<Refusal['reason'], Limit>> = {
  missing_entry: denyingLimit('require'),
  unmatched: denyingLimit('unmatched'),
};

/** A limit of 0 with a name for clients. */
function denyingLimit(name: string): Limit {
  return {
    requestsPerUnit: 0,
    unit: 'second',
    unitMultiplier: 1,
    name,
    algorithm: REFERENCE_ALGORITHM,
    windowUs: UNIT_US.second,
    capacity: 0,
  };
}

function keysOf({ entries }: Descriptor): string[] {
  return entries.map((entry) => toText(entry.key));
}

const NO_ENTRIES: Descriptor = { entries: [] };

/** Removes limits that others replace. A match without limits left is not limited. */
function withoutReplaced(matches: readonly Match[], modes: GlobalModes): Match[] {
  const replaced = new Set(matches.flatMap(({ rule }) => rule?.replaces ?? []));
  return matches.map((match) => {
    const limits = match.limits.filter((limit) => !replaced.has(beforeShare(limit).name));
    // An unlimited rule has no limit to remove.
    if (limits.length === 0 && !match.unlimited) return nothingLimits(modes, match.path);
    return changed(match, { limits });
  });
}

/** The same without requests in flight, whose slots are not hits, and without candidates. */
export function rateLimitsOf(matched: RequestMatch): RequestMatch {
  const { domainFound, hashTag, matches, hasCandidates, blocked, refusal } = matched;
  const hasSlots = matches.some(({ inFlight }) => inFlight !== undefined);
  if (!hasSlots && hasCandidates === undefined) return matched;
  const counted = hasSlots ? matches.map((match) => changed(match, { limits: match.limits.filter(isRateLimit) })) : matches;
  return { domainFound, hashTag, matches: counted, blocked, refusal };
}

/** The part of the control data that matching asks. */
export type MatchControl = Omit<ControlView, 'version'>;

/** A limit that members share, as one request asks for it. */
export interface DividedLimit {
  readonly domain: ByteString;
  readonly hashTag: ByteString | undefined;
  readonly entries: readonly Entry[];
  readonly match: Match;
  readonly limit: Limit;
}

/** The levels of divided limits now. */
export interface FairLevels {
  /** Changes with every level. */
  readonly version: number;
  /** Undefined: there is enough for all, as far as is known. */
  levelOf(divided: DividedLimit): WaterLevel | undefined;
}

export interface MatchInput {
  readonly ruleSet: RuleSet;
  readonly request: RateLimitRequest;
  readonly modes: GlobalModes;
  /** Absent: only the configuration decides. */
  readonly control?: MatchControl | undefined;
  /** Absent: members may use whole limits. */
  readonly fair?: FairLevels | undefined;
  /** Matches as if the domain refused nothing. */
  readonly admitsAll?: true;
}

function nothingLimits(modes: GlobalModes, path: readonly string[] = []): Match {
  return { limits: [], unlimited: false, mode: 'enforced', quotaAlwaysFits: modes.quota, path };
}

function matchDescriptor(input: MatchDescriptorInput): Match {
  const { domain, descriptor } = input;
  const node = findNode(domain.root, descriptor.entries);
  if (node?.unlimitedPath !== undefined && descriptor.override === undefined) return nothingLimits(input.modes, node.unlimitedPath);
  const found = node?.rule;
  if (found?.tenant === undefined) return matchRule(found, input);
  const { control } = input;
  const chosen = choosePlan({ rule: found, tenant: found.tenant, domain: domain.name, entries: descriptor.entries, control });
  const match = matchRule(chosen.rule, input);
  // An override of the request replaces the rule.
  return match.rule === undefined ? match : changed(match, { limits: match.limits, plan: chosen.inForce, pools: chosen.pools });
}

function matchRule(rule: Rule | undefined, { domain, descriptor, modes, index }: MatchDescriptorInput): Match {
  if (descriptor.override !== undefined) {
    // An override replaces the rule and its modes.
    const replaced = rule?.limits.find(isRateLimit);
    const limit = overrideLimit({ override: descriptor.override, replaced, domain, index });
    const path = rule?.path ?? keysOf(descriptor);
    const mode = modes.quota ? 'quota' : 'enforced';
    const { inFlight, reserve, fair } = rule ?? NO_RULE;
    if (inFlight === undefined) return { limits: [limit], unlimited: false, mode, quotaAlwaysFits: false, path, reserve, fair };
    return { limits: [limit, inFlight.limit], unlimited: false, mode, quotaAlwaysFits: false, path, inFlight, reserve, fair };
  }
  if (rule === undefined) return nothingLimits(modes);
  const { limits, unlimited, path, inFlight, reserve, fair } = rule;
  const quota = rule.quotaMode || modes.quota;
  const mode = rule.shadowMode ? 'shadow' : quota ? 'quota' : 'enforced';
  return { limits, unlimited, mode, quotaAlwaysFits: rule.shadowMode && quota && !unlimited, path, rule, inFlight, reserve, fair };
}

const NO_RULE: Pick<Rule, 'inFlight' | 'reserve' | 'fair'> = {};

interface MatchDescriptorInput {
  readonly domain: Domain;
  readonly descriptor: Descriptor;
  readonly modes: GlobalModes;
  readonly index: number;
  readonly control: MatchControl | undefined;
}

function overrideLimit({ override, replaced, domain, index }: OverrideLimitInput): Limit {
  // A request brings a rate, which a budget does not count.
  const isRate = replaced !== undefined && replaced.unit !== 'total';
  const algorithm = isRate ? replaced.algorithm : domain.defaultAlgorithm;
  const calendarTimeZone = domain.calendarMonth && override.unit === 'month' ? 'UTC' : undefined;
  const made = makeLimit({ algorithm, ...override, calendarTimeZone }, replaced ?? domain);
  if (isLimitProblem(made)) throw new BadRequestError(`descriptors[${index}].limit.${made.field} ${made.message}`);
  return made;
}

interface OverrideLimitInput {
  readonly override: LimitOverride;
  readonly replaced: RateLimit | undefined;
  readonly domain: Domain;
  readonly index: number;
}
