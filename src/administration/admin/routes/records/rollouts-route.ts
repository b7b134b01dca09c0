/** The route of rollouts: how far each candidate is in force, and what both parts do. */

import { Type } from '@sinclair/typebox';
import type { LimitValues } from '../../../../domain/rule/control-view';
import type { Limit } from '../../../../domain/rule/limit';
import { toText } from '../../../../domain/descriptor/byte-string';
import type { HitCounts } from '../../../../state/rollout/rollout-counter';
import { NO_COUNTS } from '../../../../state/rollout/rollout-counter';
import { US_PER_MS } from '../../../../lib/time-units';
import { percentText, spanText } from '../../../../lib/value-texts';
import { listRollouts, ROLLOUT_SOURCES, ROLLOUTS_MAX, type ListedRollout } from '../../rollouts/list-rollouts';
import { wilson } from '../../rollouts/wilson';
import { AdminProblem } from '../../problem';
import { route } from '../../route/route';
import { domain, object, shownValues, time } from '../../route/schemas';

const share = (description: string) => Type.Number({ minimum: 0, maximum: 1, description });

const part = object({
  hits: Type.Integer({ minimum: 0 }),
  over_limit: Type.Integer({ minimum: 0, description: 'Hits that did not fit the limit of their part.' }),
  share: share('The part over the limit; 0 without hits.'),
  low: share('The lower end of its Wilson interval of 95 %, as if hits were independent.'),
  high: share('The upper end.'),
});

const rolloutStatus = object({
  domain,
  rule: Type.String({ description: 'The path of the rule, `plan/` and a plan, or `override/` and the id of an override.' }),
  by: Type.String({ description: 'The key whose values are in the stage or not.' }),
  percent: Type.Number({ minimum: 0, maximum: 100 }),
  stop_if: Type.Optional(object({ denied_above: Type.String(), for: Type.String() }, 'When the guard takes it back. Absent: never.')),
  stopped: Type.Boolean({ description: 'It was taken back.' }),
  source: Type.Union(
    ROLLOUT_SOURCES.map((each) => Type.Literal(each)),
    { description: 'Where its values come from.' },
  ),
  version: Type.Integer({ minimum: 0, description: 'The version of the record, for If-Match; 0: there is none.' }),
  reason: Type.Optional(Type.String()),
  author: Type.Optional(Type.String()),
  changed_at: Type.Optional(time),
  limits: Type.Array(object({ current: Type.Optional(object(shownValues)), candidate: object(shownValues) })),
  since: Type.Optional(Type.Union([time], { description: 'When the hits of this stage began. Absent: there were none.' })),
  candidate: part,
  current: part,
});

export const rolloutsInForce = route({
  method: 'GET',
  path: '/v1/rollout-status',
  id: 'listRolloutStatus',
  tag: 'rollouts',
  role: 'viewer',
  summary: `Lists the rollouts in force, those of the configuration among them, with the hits of both parts over all instances since their last change; at most ${ROLLOUTS_MAX}.`,
  query: object({
    domain: Type.Optional(domain),
    rule: Type.Optional(Type.String({ minLength: 1, maxLength: 1024, description: 'Only the rollout with this name.' })),
  }),
  reply: object({ items: Type.Array(rolloutStatus) }),
  problems: ['unavailable'],
  handle: async ({ query }, backend) => {
    const { ruleSet } = backend.rules.current() ?? {};
    if (ruleSet === undefined) throw new AdminProblem('unavailable', 'no configuration is loaded yet; see the log');
    return { body: { items: (await listRollouts(query, { ...backend, ruleSet })).map(showRollout) } };
  },
});

function showRollout({ domain: inDomain, rule, values, source, stored, limits, counts }: ListedRollout) {
  const { by = '', percent, stopIf, version } = values;
  const { reason, author, createdAtMs } = stored?.record ?? {};
  const { candidate, current } = counts?.total ?? NO_COUNTS;
  return {
    domain: inDomain,
    rule,
    by: toText(by),
    percent,
    ...(stopIf && { stop_if: { denied_above: percentText(stopIf.deniedAbove), for: spanText(stopIf.forS) } }),
    stopped: isStopped(stored),
    source,
    version,
    ...(reason !== undefined && { reason }),
    ...(author !== undefined && { author }),
    ...(createdAtMs !== undefined && { changed_at: new Date(createdAtMs).toISOString() }),
    limits: limits.map((each) => ({ ...(each.current && { current: showValues(each.current) }), candidate: showValues(each.candidate) })),
    ...(counts && { since: new Date(counts.sinceUs / US_PER_MS).toISOString() }),
    candidate: showPart(candidate),
    current: showPart(current),
  };
}

function isStopped(stored: ListedRollout['stored']): boolean {
  const record = stored?.record;
  const values = record?.kind === 'override' ? record.rollout : record?.kind === 'rollout' ? record : undefined;
  return values?.stopped === true;
}

function showPart({ hits, over }: HitCounts) {
  return { hits, over_limit: over, share: hits === 0 ? 0 : over / hits, ...wilson(over, hits) };
}

function showValues({ name = '', requestsPerUnit, unit, unitMultiplier = 1 }: Limit | LimitValues) {
  return { name, requests_per_unit: requestsPerUnit, unit, unit_multiplier: unitMultiplier };
}
