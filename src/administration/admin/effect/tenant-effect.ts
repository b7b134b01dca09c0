/** The effect of a tenant's plan, and of the run-time values of a plan. */

import type { PlanRecord, TenantRecord } from '../../../state/control/control-record';
import { toByteString } from '../../../domain/descriptor/byte-string';
import type { ByteString } from '../../../domain/descriptor/descriptor';
import type { MatchControl } from '../../../domain/rule/match';
import { isRateLimit, type Limit } from '../../../domain/rule/limit';
import type { Plan } from '../../../domain/rule/plan';
import { replaceValues } from '../../../domain/rule/replace-values';
import { changesBetween, matchProbe } from './outcome';
import { impossible, sharedWindow, unknownName } from './override-reason';
import { planProbes, tenantProbes, type Probe, type TenantProbe } from './probes';
import { hiding, type ExamineInput, type Examined } from './selector-effect';
import type { Reason } from './warning';

const NO_TENANTS: Reason = {
  code: 'no_tenants',
  message: 'no descriptor of the domain has tenant: true, so plans change nothing; add it to the descriptor whose value is the tenant',
};

export function examineTenant(input: ExamineInput<TenantRecord>): Examined {
  const { declared, record } = input;
  const found = tenantProbes(declared, record.tenant);
  if (found === undefined) return { probes: [], reason: NO_TENANTS };
  if (found.length === 0)
    return {
      probes: [],
      reason: {
        code: 'no_rule',
        message: `no descriptor with tenant: true matches the tenant ${JSON.stringify(record.tenant)}; correct the name`,
      },
    };
  return { probes: found.map((probe) => ({ probe, reason: tenantReason(probe, input) })) };
}

function tenantReason(probe: TenantProbe, input: ExamineInput<TenantRecord>): Reason | undefined {
  const { record } = input;
  const { winner, entries, spec } = probe;
  if (winner !== undefined) {
    const last = entries.at(-1);
    const contract = winner.rule?.path.join('.') ?? `${last?.key ?? ''}=${last?.value ?? ''}`;
    const place = `${spec.problems.file}:${spec.problems.lineAt(spec.offset)}`;
    return {
      code: 'has_limits_of_its_own',
      message: `the tenant has the contract ${contract} in the configuration, which wins over the descriptor with plans at ${place}; change the contract there, or write an override`,
    };
  }
  const after = matchProbe(probe, input.after, input);
  const [decides] = after.control ?? [];
  const winning = hiding(decides, 'tenant');
  if (winning !== undefined) return winning;
  const { parent } = record;
  if (parent !== undefined) return unknownParent(toByteString(record.domain), { parent, control: input.after });
  const counted = after.limits.filter((limit) => isRateLimit(limit) && limit.pool === undefined);
  const overrides = (after.control ?? []).filter(({ candidate }) => candidate !== true);
  if (counted.length === 0 || overrides.length < counted.length) return undefined;
  return {
    code: 'hidden_by_override',
    message: `the override ${overrides[0]?.id ?? ''} replaces every limit of the plan for this tenant; delete it to have those of the plan`,
  };
}

interface ParentInput {
  readonly parent: string;
  readonly control: MatchControl;
}

/** Files and restores may bring a child before its parent. */
function unknownParent(domain: ByteString, { parent, control }: ParentInput): Reason | undefined {
  const name = toByteString(parent);
  if (control.planOf(domain, name) !== undefined || control.parentOf(domain, name) !== undefined) return undefined;
  const message = `the parent ${JSON.stringify(parent)} has no record, so it counts by the default plan; write it, or correct the name`;
  return { code: 'unknown_parent', message };
}

export function examinePlan(input: ExamineInput<PlanRecord>): Examined {
  const { declared, record } = input;
  const plan = declared.domain.plans?.get(toByteString(record.plan));
  // A plan that the configuration does not have yet was written ahead on purpose.
  if (plan === undefined) return { probes: [] };
  const probes = planProbes(declared, plan);
  if (probes.length === 0) return { probes: [], reason: NO_TENANTS };
  const reasons = valuesReasons(record, plan);
  const isWhole = reasons.length === record.limits.length;
  return {
    probes: [
      ...probes.map((probe) => ({ probe, reason: isWhole ? reasons[0] : unchanged(probe, input) })),
      // Values without an effect beside others that have one.
      ...(isWhole ? reasons.slice(1) : reasons).flatMap((reason) => probes.slice(0, 1).map((probe) => ({ probe, reason }))),
    ],
  };
}

/** One for each of the values that replaces no limit of the plan. */
function valuesReasons({ limits: values, plan: name }: PlanRecord, { limits, pool = [] }: Plan): readonly Reason[] {
  const owner = `the plan ${name}`;
  return values.flatMap((each, place): readonly Reason[] => {
    if (limits.length + pool.length === 0)
      return [{ code: 'nothing_to_replace', message: `${owner} has no limit, because it is unlimited` }];
    const meant: Limit | undefined =
      each.name === undefined ? limits[place] : [...limits, ...pool].find((limit) => limit.name === each.name);
    if (meant === undefined)
      return each.name === undefined
        ? [
            {
              code: 'unknown_place',
              message: `${owner} has ${limits.length} limit(s), so the values at place ${place + 1} replace none; leave them out, or name a limit`,
            },
          ]
        : [{ code: 'unknown_limit', message: `${owner} has ${unknownName(each.name, [...limits, ...pool])}` }];
    return isRateLimit(meant) && replaceValues(meant, each) === undefined ? [impossible(meant, owner)] : [];
  });
}

/** The values replace limits, unless two of them would then share a window. */
function unchanged(probe: Probe, input: ExamineInput<PlanRecord>): Reason | undefined {
  const after = matchProbe(probe, input.after, input);
  if (changesBetween(probe, matchProbe(probe, input.without, input), after).length > 0) return undefined;
  const owner = `the plan ${input.record.plan}`;
  return after.plan?.hasValues === true ? { code: 'no_change', message: `${owner} has these limits already` } : sharedWindow(owner);
}
