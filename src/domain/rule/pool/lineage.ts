/** The lineage of a tenant: itself and the tenants above it, each with the plan in force for it. */

import type { ByteString } from '../../descriptor/descriptor';
import type { ControlView } from '../control-view';
import type { Plan, TenantTerms } from '../plan';

/** Most levels of a tree of tenants, such as organization, team, user and key. */
export const TENANT_LEVELS_MAX = 4;

/** A tenant of a lineage. */
export interface LineageLevel {
  readonly tenant: ByteString;
  readonly plan: Plan;
  /** The tenant above whose plan names this one for its members. Absent: the plan is its own, or the default one. */
  readonly planFrom?: ByteString;
  /** The plan is the default one: it has none of its own that the configuration has, and none above it names one. */
  readonly isDefault: boolean;
}

type LineageControl = Pick<ControlView, 'planOf' | 'parentOf'>;

interface LineageInput {
  readonly domain: ByteString;
  readonly tenant: ByteString;
  readonly parent: ByteString;
  readonly terms: TenantTerms;
  readonly control: LineageControl;
}

/**
 * The tenant first, its root last. A tenant without a record, which others name as their parent, has the default plan. The store refuses
 * cycles and deeper trees; where lost data left one, the walk still ends.
 */
export function lineageOf({ domain, tenant, parent, terms, control }: LineageInput): readonly [LineageLevel, ...LineageLevel[]] {
  const line = [tenant, parent];
  while (line.length < TENANT_LEVELS_MAX) {
    const next = control.parentOf(domain, line.at(-1) ?? '');
    if (next === undefined || line.includes(next)) break;
    line.push(next);
  }
  let forMembers: { readonly plan: Plan; readonly of: ByteString } | undefined;
  let levels: LineageLevel[] = [];
  for (const each of line.reverse()) {
    const name = control.planOf(domain, each);
    const own = name === undefined ? undefined : terms.plans.get(name);
    const plan = own ?? forMembers?.plan ?? terms.defaultPlan;
    const isDefault = own === undefined && forMembers === undefined;
    const level = { tenant: each, plan, isDefault };
    levels = [own === undefined && forMembers !== undefined ? { planFrom: forMembers.of, ...level } : level, ...levels];
    const named = plan.members === undefined ? undefined : terms.plans.get(plan.members);
    if (named !== undefined) forMembers = { plan: named, of: each };
  }
  const [first = { tenant, plan: terms.defaultPlan, isDefault: true }, ...above] = levels;
  return [first, ...above];
}
