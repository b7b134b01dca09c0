/** Finds the plan of a tenant, and the rule with its limits. */

import type { ByteString, Entry } from '../descriptor/descriptor';
import type { ControlView, LimitValues } from './control-view';
import { isRateLimit, type Limit } from './limit';
import { haveOwnBuckets } from './own-buckets';
import type { Plan, TenantTerms } from './plan';
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
}

export interface ChosenPlan {
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
  readonly control: Pick<ControlView, 'planOf' | 'planLimits'> | undefined;
}

/** The rules that were made of the rule of a tenant descriptor: the same objects each time, so that stores can fold their takes. */
interface RulesOfPlans {
  readonly byPlan: Map<Plan, ChosenPlan>;
  /** By the run-time values of a plan. */
  readonly byValues: WeakMap<readonly LimitValues[], ChosenPlan>;
}

const known = new WeakMap<Rule, RulesOfPlans>();

/** A plan that the configuration does not have counts as none. */
export function choosePlan({ rule, tenant: terms, domain, entries, control }: ChoosePlanInput): Omit<ChosenPlan, 'byDefault'> {
  const tenant = entries[terms.level]?.value;
  const name = tenant === undefined ? undefined : control?.planOf(domain, tenant);
  const named = name === undefined ? undefined : terms.plans.get(name);
  const plan = named ?? terms.defaultPlan;
  const chosen = ruleOf(rule, plan, control?.planLimits(domain, plan.name));
  if (named !== undefined) return chosen;
  const { byDefault } = chosen;
  return { rule: chosen.rule, inForce: name === undefined ? byDefault : { ...byDefault, unknownPlan: name } };
}

function ruleOf(rule: Rule, plan: Plan, values: readonly LimitValues[] | undefined): ChosenPlan {
  let ofRule = known.get(rule);
  if (ofRule === undefined) {
    ofRule = { byPlan: new Map(), byValues: new WeakMap() };
    known.set(rule, ofRule);
  }
  const last = values === undefined ? ofRule.byPlan.get(plan) : ofRule.byValues.get(values);
  if (last !== undefined) return last;
  const limits = values === undefined ? plan.limits : limitsWith(values, plan);
  const inForce = { plan, isDefault: false, hasValues: limits !== plan.limits };
  const made = { rule: ruleWith(rule, { ...plan, limits }), inForce, byDefault: { ...inForce, isDefault: true } };
  if (values === undefined) ofRule.byPlan.set(plan, made);
  else ofRule.byValues.set(values, made);
  return made;
}

/** The rule of a tenant descriptor under one plan. */
export function ruleWith(rule: Rule, { limits, unlimited, limitName, replaces }: Plan): Rule {
  const { inFlight } = rule;
  return { ...rule, limits: inFlight === undefined ? limits : [...limits, inFlight.limit], unlimited, name: limitName, replaces };
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
