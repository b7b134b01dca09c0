/** Explains a request: which descriptor of the configuration matches, which limits apply and where they come from, and why others do not. */

import { toGroup } from '../../domain/bucket/to-group';
import type { DeclaredLevel } from '../compile/lint/declared-level';
import type { PlanSpec } from '../compile/read/read-plans';
import { toText } from '../../domain/descriptor/byte-string';
import type { Entry, RateLimitRequest } from '../../domain/descriptor/descriptor';
import { overrideLimits } from '../../domain/rule/apply-override';
import type { PlanInForce } from '../../domain/rule/choose-plan';
import { refusalOf, type Refusal } from '../../domain/descriptor/admission';
import { show } from '../../lib/quote';
import { memberOf, NO_MEMBER, weightOf, type Fair } from '../../domain/rule/fair/fair';
import { beforeReserve } from '../../domain/rule/limit';
import { matchRequest, type FairLevels, type GlobalModes, type Match, type MatchControl } from '../../domain/rule/match';
import type { Plan } from '../../domain/rule/plan';
import { poolsInForce, type PoolLevel } from '../../domain/rule/pool';
import type { RuleSet } from '../../domain/rule/rule-set';
import type { StageInForce, StagePart } from '../../domain/rule/stage/stage';
import { classOf, partKept, RESERVE_PARTS, type Reserve } from '../../domain/rule/reserve/reserve';
import { beforeStage } from '../../domain/rule/stage-limits';
import type { DescriptorLevel } from '../../domain/rule/tree';
import { COMPARED_MAX, descend, entryText, NO_DESCENT, type Descent, type LevelExplanation } from './explain-levels';
import { explainLimits, type LimitExplanation } from './explain-limit';

/** All texts are Unicode: bytes that are not UTF-8 show as U+FFFD. */
export interface Explanation {
  readonly domain: string;
  readonly domainFound: boolean;
  /** Why the domain refuses the whole request; absent: it admits it to its limits. */
  readonly refused?: string;
  readonly descriptors: readonly DescriptorExplanation[];
}

export interface DescriptorExplanation {
  readonly entries: readonly Entry[];
  /** The path of the rule, joined with dots; absent: no rule matches. */
  readonly rule?: string;
  /** One for each entry up to the first without a match. */
  readonly levels: readonly LevelExplanation[];
  readonly mode: Match['mode'];
  readonly unlimited: boolean;
  /** The limits that apply, apart from a block or a pass. */
  readonly limits: readonly LimitExplanation[];
  /** The stage of its candidates; absent: they have none. */
  readonly stage?: StageExplanation;
  /** The tenants above, the nearest first; absent: there are none. */
  readonly above?: readonly TenantAbove[];
  /** The class of the request in the reserve of the rule; absent: the rule has none. */
  readonly reserve?: ReserveExplanation;
  /** The member of the request, where members divide the limits of the rule; absent: they do not. */
  readonly fair?: FairExplanation;
  /** The limit is the request's override, not that of the rule. */
  readonly override: boolean;
  /** The plan whose limits apply; absent: the descriptor has no tenants. */
  readonly plan?: string;
  readonly planSource?: PlanSource;
  /** Limits of the rule that do not apply, because the override or another limit of the request replaces them. */
  readonly replaced: readonly string[];
  /** The id of the block that denies the whole request; absent: none does. */
  readonly block?: string;
  /** The id of the pass that makes the descriptor unlimited; absent: none does. */
  readonly pass?: string;
  /** Why no limit applies; absent if one does. */
  readonly notLimited?: string;
}

/** Whether the candidate decides the descriptor. */
export interface StageExplanation {
  /** As in `Stage.name`. */
  readonly rollout: string;
  /** The key whose values are in the stage or not. */
  readonly by: string;
  readonly percent: number;
  readonly part: StagePart;
}

/** A tenant above that of the descriptor, with its plan. */
export interface TenantAbove {
  readonly tenant: string;
  readonly plan: string;
  readonly isDefault: boolean;
}

/** The class of a request, and the part that others keep. */
export interface ReserveExplanation {
  /** Key of the entry with the class. */
  readonly entry: string;
  /** Absent: the request has none of the classes. */
  readonly class?: string;
  /** The last part of each limit that the request may not use. */
  readonly keptPercent: number;
}

/** One of the members that divide a limit. */
export interface FairExplanation {
  /** Key of the entry with the member. */
  readonly entry: string;
  /** Absent: the request names none, or several. */
  readonly member?: string;
  readonly weight: number;
}

/** Why the plan applies, and where the configuration has it. */
export interface PlanSource {
  /** It is the `default_plan`, because the tenant has none, or one that the configuration lacks. */
  readonly isDefault: boolean;
  /** The plan of the tenant, which the configuration lacks. */
  readonly unknownPlan?: string;
  /** The tenant above whose plan names this one for members; absent: none does. */
  readonly membersOf?: string;
  readonly file?: string;
  readonly line?: number;
}

export interface ExplainInput {
  readonly ruleSet: RuleSet;
  /** Every level of the rule set, as declared. */
  readonly levels: ReadonlyMap<DescriptorLevel, DeclaredLevel>;
  /** Every plan of the rule set, as declared. */
  readonly plans: ReadonlyMap<Plan, PlanSpec>;
  readonly request: RateLimitRequest;
  readonly modes: GlobalModes;
  /** `CACHE_KEY_PREFIX`. */
  readonly keyPrefix: string;
  readonly nowUs: () => number;
  /** Absent: only the configuration decides. */
  readonly control?: MatchControl | undefined;
  /** Absent: members may use whole limits. */
  readonly fair?: FairLevels | undefined;
}

/** Uses the code that decides requests for winners, limits and bucket keys, so that the explanation cannot disagree with it. */
export function explainRequest({ ruleSet, levels, plans, request, modes, keyPrefix, nowUs, control, fair }: ExplainInput): Explanation {
  const domain = ruleSet.domains.get(request.domain);
  const matched = matchRequest({ ruleSet, request, modes, control: control && withoutBlocks(control), fair, admitsAll: true });
  const { takes } = toGroup({ request, matched, keyPrefix, shadow: modes.shadow, nowUs });
  const descriptors = request.descriptors.map(({ entries, override }, index) => {
    const match = matched.matches[index];
    if (match === undefined) throw new Error('a descriptor without a match');
    const selection = control?.select(request.domain, entries);
    const { rule, pools } = match;
    const block = selection?.block ?? (pools && poolsInForce({ pools, domain: request.domain, entries, control }).block);
    const overridden = overrideLimits(
      rule?.limits ?? match.limits,
      rule === undefined || selection === undefined ? { overrides: [] } : selection,
    );
    const descent = domain === undefined ? NO_DESCENT : descend({ domain, levels, entries });
    const limits = explainLimits({
      match,
      overridden,
      written: { descriptor: descent.spec, plan: match.plan && plans.get(match.plan.plan) },
      plans,
      keys: takes.filter(({ descriptor }) => descriptor === index).map(({ bucketKey }) => bucketKey),
    });
    const ruleLimits = rule === undefined ? (descent.node?.rule?.limits ?? []) : overridden.limits;
    const unstaged = match.limits.map((limit) => beforeStage(beforeReserve(limit)));
    const replaced = ruleLimits.filter((limit) => !unstaged.includes(limit)).map(({ name }) => name);
    const why = notLimited({ ruleSet, request, match, descent, replaced });
    return {
      entries: entries.map(entryText),
      ...(match.path.length > 0 && { rule: match.path.join('.') }),
      levels: descent.levels,
      mode: match.mode,
      unlimited: match.unlimited,
      limits,
      ...(match.plan && explainPlan(match.plan, plans)),
      ...(pools !== undefined && pools.levels.length > 1 && { above: pools.levels.slice(1).map(explainLevelOf) }),
      ...(match.stage && { stage: explainStage(match.stage) }),
      ...(match.reserve && limits.length > 0 && { reserve: explainReserve(match.reserve, entries) }),
      ...(match.fair && limits.length > 0 && { fair: explainFair(match.fair, entries) }),
      override: override !== undefined && limits.length > 0,
      replaced,
      ...(block && { block: block.id }),
      ...(selection?.pass && { pass: selection.pass.id }),
      ...(why !== undefined && { notLimited: why }),
    };
  });
  const refusal =
    domain?.admission && refusalOf(domain.admission, request, matchRequest({ ruleSet, request, modes, control, admitsAll: true }).matches);
  return {
    domain: toText(request.domain),
    domainFound: domain !== undefined,
    ...(refusal && { refused: explainRefusal(refusal) }),
    descriptors,
  };
}

function explainRefusal({ key }: Refusal): string {
  return key === undefined
    ? 'no rule matches any of its descriptors, and the domain has unmatched: deny'
    : `none of its descriptors has the entry ${show(toText(key))} with a value, which the domain requires`;
}

/** A view without blocks and passes: the limits that would apply without them. */
export function withoutBlocks(control: MatchControl): MatchControl {
  return {
    planOf: (domain, tenant) => control.planOf(domain, tenant),
    parentOf: (domain, tenant) => control.parentOf(domain, tenant),
    planLimits: (domain, plan) => control.planLimits(domain, plan),
    stageOf: (domain, name) => control.stageOf(domain, name),
    select: (domain, entries) => {
      const selection = control.select(domain, entries);
      return selection && { overrides: selection.overrides };
    },
  };
}

function explainStage({ stage, values: { by = '', percent }, part }: StageInForce): StageExplanation {
  return { rollout: stage.name, by: toText(by), percent, part };
}

function explainLevelOf({ tenant, plan, isDefault }: PoolLevel): TenantAbove {
  return { tenant: toText(tenant), plan: toText(plan.name), isDefault };
}

function explainReserve(reserve: Reserve, entries: readonly Entry[]): ReserveExplanation {
  const name = classOf(reserve, entries);
  return {
    entry: toText(reserve.entry),
    ...(name !== undefined && { class: toText(name) }),
    keptPercent: (partKept(reserve, entries) * 100) / RESERVE_PARTS,
  };
}

function explainFair(fair: Fair, entries: readonly Entry[]): FairExplanation {
  const member = memberOf(fair, entries);
  return { entry: toText(fair.entry), ...(member !== NO_MEMBER && { member: toText(member) }), weight: weightOf(fair, member) };
}

function explainPlan({ plan, isDefault, unknownPlan, planFrom }: PlanInForce, plans: ExplainInput['plans']) {
  const spec = plans.get(plan);
  return {
    plan: toText(plan.name),
    planSource: {
      isDefault,
      ...(unknownPlan !== undefined && { unknownPlan: toText(unknownPlan) }),
      ...(planFrom !== undefined && { membersOf: toText(planFrom) }),
      ...(spec && { file: spec.problems.file, line: spec.problems.lineAt(spec.offset) }),
    },
  };
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
  const shown = names.slice(0, COMPARED_MAX).join(', ');
  if (names.length === 0) return 'none';
  return names.length > COMPARED_MAX ? `${shown} and ${names.length - COMPARED_MAX} more` : shown;
}

function hasNodes({ byValue, networks, wildcards, byKey }: DescriptorLevel): boolean {
  return byValue.size + (networks?.nodes.length ?? 0) + wildcards.nodes.length + byKey.size > 0;
}
