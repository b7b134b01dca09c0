/** Finds the plan of a tenant, and the rule with its limits. */

import type { ByteString, Entry } from '../descriptor/descriptor';
import type { ControlView, LimitValues } from './control-view';
import { haveOwnBuckets, isRateLimit, type Limit } from './limit';
import type { Plan, TenantTerms } from './plan';
import { lineageOf, poolOf, type Lineage, type Pools } from './pool';
import { replaceValues } from './replace-values';
import type { Rule } from './rule';

/** The plan that decides a match. */
export interface PlanInForce {
  readonly plan: Plan;
  /** The tenant has no plan, or one that the configuration does not have. */
  readonly isDefault: boolean;
  /** A plan of the control data that the configuration does not have. Absent: there is none. */
  readonly unknownPlan?: ByteString;
  /** Control data replace limits of the plan. */
  readonly hasValues: boolean;
  /** The tenant above whose plan names this one for its members. Absent: none does. */
  readonly planFrom?: ByteString;
}

interface ChosenPlan {
  /** The rule of the descriptor, with the limits of the plan. */
  readonly rule: Rule;
  readonly inForce: PlanInForce;
  /** The same for tenants without a plan. */
  readonly byDefault: PlanInForce;
}

interface ChoosePlanInput {
  readonly rule: Rule;
  readonly tenant: TenantTerms;
  readonly domain: ByteString;
  readonly entries: readonly Entry[];
  readonly control: Pick<ControlView, 'planOf' | 'parentOf' | 'planLimits'> | undefined;
}

interface Chosen extends Omit<ChosenPlan, 'byDefault'> {
  /** The pools of the tenant and of those above it. Absent: it has no parent, and its plan no pool. */
  readonly pools?: Pools;
}

interface NamedPlan {
  readonly plan: Plan;
  /** With the configured limits. */
  readonly chosen: Chosen;
}

/** The rules that were made of the rule of a tenant descriptor: the same objects each time, so that stores can fold their takes. */
interface RulesOfPlans {
  /** By the name of a configured plan. */
  readonly byName: Map<ByteString, NamedPlan>;
  readonly byDefault: NamedPlan;
  /** By the run-time values of a plan. */
  readonly byValues: WeakMap<readonly LimitValues[], ChosenPlan>;
}

const known = new WeakMap<Rule, RulesOfPlans>();

/** A plan that the configuration does not have counts as none. A member without a plan has the one that a plan above names for members. */
export function choosePlan({ rule, tenant: terms, domain, entries, control }: ChoosePlanInput): Chosen {
  const tenant = entries[terms.level]?.value;
  const own = tenant === undefined ? undefined : control?.planOf(domain, tenant);
  const parent = tenant === undefined ? undefined : control?.parentOf(domain, tenant);
  const line =
    tenant === undefined || parent === undefined || control === undefined
      ? undefined
      : lineageOf({ domain, tenant, parent, terms, control });
  const planFrom = line?.[0].planFrom;
  const name = line === undefined || planFrom === undefined ? own : line[0].plan.name;
  const ofRule = rulesOf(rule, terms);
  const named = name === undefined ? undefined : ofRule.byName.get(name);
  const { plan, chosen } = named ?? ofRule.byDefault;
  const values = control?.planLimits(domain, plan.name);
  const inForce = values === undefined ? chosen : withValues(rule, { plan, values, ofRule, isNamed: named !== undefined });
  const known: Chosen =
    named !== undefined || name === undefined ? inForce : { rule: inForce.rule, inForce: { unknownPlan: name, ...inForce.inForce } };
  if (line !== undefined) return inTree(known, { line, planFrom, own, level: terms.level, domain, control });
  if (plan.pool === undefined || tenant === undefined) return known;
  const alone = { tenant, plan, isDefault: known.inForce.isDefault, limits: poolOf(plan, values) };
  return { rule: known.rule, inForce: known.inForce, pools: { level: terms.level, levels: [alone] } };
}

interface InTreeInput extends Pick<ChoosePlanInput, 'domain' | 'control'> {
  readonly line: Lineage;
  readonly planFrom: ByteString | undefined;
  /** The name of the plan that control data give the tenant. */
  readonly own: ByteString | undefined;
  /** Index of the entry whose value is the tenant. */
  readonly level: number;
}

function inTree({ rule, inForce }: Chosen, { line, planFrom, own, level, domain, control }: InTreeInput): Chosen {
  const levels = line.map(({ tenant, plan, isDefault }) => ({
    tenant,
    plan,
    isDefault,
    limits: poolOf(plan, control?.planLimits(domain, plan.name)),
  }));
  const pools = { level, levels };
  if (planFrom === undefined) return { rule, inForce, pools };
  return { rule, inForce: { planFrom, ...(own !== undefined && { unknownPlan: own }), ...inForce }, pools };
}

function rulesOf(rule: Rule, { plans, defaultPlan }: TenantTerms): RulesOfPlans {
  const ofRule = known.get(rule);
  if (ofRule !== undefined) return ofRule;
  const byPlan = new Map<Plan, ChosenPlan>();
  const ofPlan = (plan: Plan): ChosenPlan => {
    const chosen = byPlan.get(plan) ?? choose(rule, { plan, limits: plan.limits });
    byPlan.set(plan, chosen);
    return chosen;
  };
  const made: RulesOfPlans = {
    byName: new Map([...plans].map(([name, plan]) => [name, { plan, chosen: ofPlan(plan) }])),
    byDefault: { plan: defaultPlan, chosen: asDefault(ofPlan(defaultPlan)) },
    byValues: new WeakMap(),
  };
  known.set(rule, made);
  return made;
}

interface WithValuesInput {
  readonly plan: Plan;
  readonly values: readonly LimitValues[];
  readonly ofRule: RulesOfPlans;
  readonly isNamed: boolean;
}

function withValues(rule: Rule, { plan, values, ofRule, isNamed }: WithValuesInput): Chosen {
  let chosen = ofRule.byValues.get(values);
  if (chosen === undefined) {
    chosen = choose(rule, { plan, limits: limitsWith(values, plan) });
    ofRule.byValues.set(values, chosen);
  }
  return isNamed ? chosen : asDefault(chosen);
}

function choose(rule: Rule, { plan, limits }: { readonly plan: Plan; readonly limits: readonly Limit[] }): ChosenPlan {
  const hasValues = limits !== plan.limits;
  const inForce = { plan, isDefault: false, hasValues };
  const { unlimited, limitName, replaces } = plan;
  return { rule: ruleWith(rule, { limits, unlimited, limitName, replaces }), inForce, byDefault: { plan, isDefault: true, hasValues } };
}

function asDefault({ rule, byDefault }: ChosenPlan): Chosen {
  return { rule, inForce: byDefault };
}

/** The rule of a tenant descriptor under one plan. */
export function ruleWith(rule: Rule, { limits: ofPlan, unlimited, limitName, replaces }: Omit<Plan, 'name'>): Rule {
  const { limits, unlimited: wasUnlimited, name, replaces: replaced, ...others } = rule;
  const { inFlight } = rule;
  return { limits: inFlight === undefined ? ofPlan : [...ofPlan, inFlight.limit], unlimited, name: limitName, replaces, ...others };
}

/**
 * Values with a name replace the limit with that name, others the limit at their place. Values that make no limit of its algorithm
 * have no effect; and none have an effect if two limits would then share a bucket, where each hit would count twice.
 */
function limitsWith(values: readonly LimitValues[], { limits }: Plan): readonly Limit[] {
  const replaced = limits.map((limit, place) => {
    const atPlace = values[place];
    const own =
      (limit.name === '' ? undefined : values.find(({ name }) => name === limit.name)) ??
      (atPlace?.name === undefined ? atPlace : undefined);
    const other = own !== undefined && isRateLimit(limit) ? replaceValues(limit, own) : undefined;
    return other ?? limit;
  });
  const isReplaced = replaced.some((limit, place) => limit !== limits[place]);
  return isReplaced && haveOwnBuckets(replaced) ? replaced : limits;
}
