/** The route of plans: those of the configuration with their place, and beside each its values at run time. */

import { Type } from '@sinclair/typebox';
import { keyOf, RECORD_BOUNDS, type StoredRecord } from '../../../../state/control/control-record';
import { toByteString, toText } from '../../../../domain/descriptor/byte-string';
import type { Plan } from '../../../../domain/rule/plan';
import type { AdminBackend, CurrentRules } from '../../backend';
import { effectOfStored } from '../../effect/record-effect';
import { cursorOf } from '../../route/cursor';
import { route } from '../../route/route';
import { domain, next, object, page, shownLimit } from '../../route/schemas';
import { snakeKeys } from '../../route/snake-keys';
import { effectInputOf, effectState, warnings } from './effect-schemas';
import { recordSchema, SHAPES, showStored } from './record-schemas';

const item = object({
  domain: Type.String(),
  plan: Type.String(),
  configured: Type.Boolean({ description: 'False: the configuration in force lacks the plan; there are only values for it.' }),
  file: Type.Optional(Type.String({ description: 'Where the configuration has it.' })),
  line: Type.Optional(Type.Integer({ minimum: 1 })),
  unlimited: Type.Boolean(),
  limits: Type.Array(shownLimit, { description: 'The limits of the configuration.' }),
  values: Type.Optional(recordSchema(SHAPES.plan)),
  effect: Type.Optional(effectState),
  warnings,
});

interface Listed {
  readonly domain: string;
  readonly name: string;
  /** Absent: the configuration lacks it. */
  readonly plan?: Plan;
}

export const plansInForce = route({
  method: 'GET',
  path: '/v1/plans-in-force',
  id: 'listPlansInForce',
  tag: 'plans',
  role: 'viewer',
  summary:
    'Lists the plans of the configuration, with the place of each and its values at run time, and then values for plans that it lacks.',
  query: object({
    ...page,
    domain: Type.Optional(domain),
    plan: Type.Optional(Type.String({ minLength: 1, maxLength: RECORD_BOUNDS.nameBytes, description: 'Only the plan with this name.' })),
  }),
  reply: object({ items: Type.Array(item), next }),
  handle: ({ query, pageMax }, backend) => {
    const rules = backend.rules.current();
    const asked = allPlans(rules, backend).filter(
      (each) => (query.domain === undefined || each.domain === query.domain) && (query.plan === undefined || each.name === query.plan),
    );
    const begin = query.cursor === undefined ? 0 : Number(cursorOf(query.cursor, /^\d{1,9}$/));
    const end = begin + Math.min(pageMax, query.limit ?? pageMax);
    const items = asked.slice(begin, end).map((each) => showPlan(each, { rules, backend }));
    return Promise.resolve({ body: { items, ...(end < asked.length && { next: String(end) }) } });
  },
});

/** A domain has at most a thousand plans, and a store has values for ten thousand. */
function allPlans(rules: CurrentRules | undefined, { controlView }: AdminBackend): readonly Listed[] {
  const domains = [...(rules?.ruleSet.domains.values() ?? [])];
  const configured = domains.flatMap(({ name: inDomain, plans }) =>
    [...(plans?.values() ?? [])].map((plan): Listed => ({ domain: toText(inDomain), name: toText(plan.name), plan })),
  );
  const others = [...controlView.exceptions('plan')]
    .map(({ record }): Listed => ({ domain: record.domain, name: keyOf(record).name }))
    .filter(({ domain: inDomain, name }) => rules?.ruleSet.domains.get(toByteString(inDomain))?.plans?.has(toByteString(name)) !== true)
    .sort((one, other) => (`${one.domain}\n${one.name}` < `${other.domain}\n${other.name}` ? -1 : 1));
  return [...configured, ...others];
}

function showPlan(
  { domain: inDomain, name, plan }: Listed,
  { rules, backend }: { readonly rules: CurrentRules | undefined; readonly backend: AdminBackend },
) {
  const spec = plan && rules?.plans.get(plan);
  const line = spec?.problems.lineAt(spec.offset) ?? 0;
  const stored = backend.controlView.get({ kind: 'plan', domain: inDomain, name });
  return {
    domain: inDomain,
    plan: name,
    configured: plan !== undefined,
    ...(spec && { file: spec.problems.file, ...(line > 0 && { line }) }),
    unlimited: plan?.unlimited ?? false,
    limits: (plan?.limits ?? []).map(({ name: named, requestsPerUnit, unit, unitMultiplier, algorithm, capacity, show }) =>
      snakeKeys({ name: named, requestsPerUnit, unit, unitMultiplier, algorithm, capacity, ...(show && { show }) }),
    ),
    ...valuesOf(stored, backend),
  };
}

function valuesOf(stored: StoredRecord | undefined, backend: AdminBackend) {
  if (stored === undefined) return { warnings: [] };
  const { state, warnings: why } = effectOfStored(stored, effectInputOf(backend));
  return { values: showStored(stored), effect: state, warnings: [...why] };
}
