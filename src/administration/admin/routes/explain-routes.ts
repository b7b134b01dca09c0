/** The routes that explain: what decides a request now, and the limits of a tenant. */

import { Type } from '@sinclair/typebox';
import { RECORD_BOUNDS, type TenantRecord } from '../../../state/control/control-record';
import { toByteString, toText } from '../../../domain/descriptor/byte-string';
import type { RateLimitRequest } from '../../../domain/descriptor/descriptor';
import { tenantDescriptors, type TenantDescriptor } from '../../../configuration/explain/tenant-descriptors';
import type { AdminBackend } from '../backend';
import { idleNaming, idleSelecting, type IdleRecord } from '../exceptions/idle-records';
import { AdminProblem } from '../problem';
import { bucket } from './bucket-routes';
import { decidingRecord, explainedDescriptor, explainedLevel, shownRecord, withoutEffect } from './explanation-schemas';
import { effectInputOf } from './records/effect-schemas';
import { explainLive, recordsOf, showRecordDetails } from './live-explanation';
import { currentRules, groupOf, levelsOf, toRequest, type NamedGroup } from '../request/live-request';
import { route, type AdminRoute } from '../route/route';
import { descriptors, domain, object } from '../route/schemas';
import { readSelector } from '../route/selector-text';

/** Open: explanations may get further fields. */
const explanation = Type.Object(
  {
    domain: Type.String(),
    domain_found: Type.Boolean(),
    refused: Type.Optional(Type.String({ description: 'Why the domain refuses the whole request. Absent: it admits it to its limits.' })),
    descriptors: Type.Array(
      Type.Object({
        ...explainedDescriptor,
        levels: Type.Array(explainedLevel),
      }),
    ),
  },
  { description: 'As `weir explain --format json`, with the field names of this API, records and buckets.' },
);

const explain = route({
  method: 'POST',
  path: '/v1/explain',
  id: 'explainRequest',
  tag: 'system',
  role: 'viewer',
  summary:
    'Explains the decision on a request: which descriptors of the configuration match and why, the limits, where each comes from, the records of control data that decide, and what is left in the buckets.',
  body: object({ domain, descriptors }),
  reply: object({
    generation: Type.Integer({ minimum: 1 }),
    over_limit: Type.Boolean({ description: 'Whether one more request with a hit for each descriptor would be denied now.' }),
    control: Type.Array(decidingRecord, { description: 'The records of control data that decide.' }),
    without_effect: withoutEffect,
    explanation,
    buckets: Type.Array(bucket, { description: 'The buckets of all limits, also of those that a block or a pass keeps from applying.' }),
  }),
  problems: ['unavailable'],
  handle: async ({ body }, backend) => {
    const { generation } = currentRules(backend).ruleSet;
    const request = toRequest(body);
    const grouped = groupOf(request, backend, { control: backend.controlView, fair: await levelsOf(request, backend) });
    const [{ buckets, ...explained }, overLimit, control] = await Promise.all([
      explainLive(request, backend),
      wouldDeny(grouped, backend),
      recordsOf({ request, matched: grouped.matched }, backend),
    ]);
    const deciding = control.map(({ kind, id: name }) => ({ kind, domain: body.domain, name }));
    const idle = idleSelecting(request, { deciding, controlView: backend.controlView, effectInput: effectInputOf(backend) });
    return {
      body: {
        generation,
        over_limit: overLimit,
        control: [...control],
        without_effect: idle.map(showIdle),
        explanation: { ...explained, descriptors: [...explained.descriptors] },
        buckets: [...buckets],
      },
    };
  },
});

function showIdle({ key, stored, state, warnings }: IdleRecord) {
  return { ...showRecordDetails(key, stored), effect: state, warnings: [...warnings] };
}

/** The verdict on the whole request, as if it were asked, without a charge. */
async function wouldDeny({ group, matched }: NamedGroup, backend: AdminBackend): Promise<boolean> {
  if (matched.matches.some(({ block }) => block !== undefined)) return !backend.rules.modes.shadow;
  if (group.takes.length === 0) return false;
  const [verdict] = await backend.buckets.take([{ ...group, dry: true }]);
  if (verdict === undefined) throw new AdminProblem('unavailable', 'the store cannot read a bucket now; try again');
  return verdict.overLimit;
}

/** Most descriptors of one answer. */
const DESCRIPTORS_SHOWN_MAX = 50;

const tenantName = Type.String({ minLength: 1, maxLength: RECORD_BOUNDS.nameBytes });

const tenantLimits = route({
  method: 'GET',
  path: '/v1/tenants/{domain}/{tenant}/limits',
  id: 'getTenantLimits',
  tag: 'tenants',
  role: 'viewer',
  summary:
    'Shows the limits in force for a tenant under each descriptor with `tenant: true`: the plan and why it applies, where each limit comes from, and what is left in its bucket.',
  params: object({ domain, tenant: tenantName }),
  query: object({
    entry: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 1024,
        description: 'Values of entries above the tenant, for descriptors with `needs`: `key=value,key=value`. Write `%2C` for a comma.',
      }),
    ),
  }),
  reply: object({
    domain: Type.String(),
    tenant: Type.String(),
    generation: Type.Integer({ minimum: 1 }),
    record: Type.Optional(
      Type.Composite([shownRecord, Type.Object({ plan: Type.Optional(Type.String()), parent: Type.Optional(Type.String()) })], {
        additionalProperties: false,
      }),
    ),
    descriptors: Type.Array(
      Type.Object({
        ...explainedDescriptor,
        needs: Type.Optional(
          Type.Array(Type.String(), { description: 'Keys whose values the query must give, because the configuration leaves them open.' }),
        ),
        file: Type.String({ description: 'Where the configuration has the descriptor with `tenant: true`.' }),
        line: Type.Integer({ minimum: 1 }),
      }),
    ),
    without_effect: withoutEffect,
    omitted: Type.Integer({ minimum: 0, description: `Further descriptors; an answer has at most ${DESCRIPTORS_SHOWN_MAX}.` }),
  }),
  problems: ['conflict', 'unavailable'],
  handle: async ({ params, query }, backend) => {
    const { ruleSet, levels } = currentRules(backend);
    const [inDomain, tenant] = [toByteString(params.domain), toByteString(params.tenant)];
    const configured = ruleSet.domains.get(inDomain);
    const given = new Map(
      (query.entry === undefined ? [] : readSelector(query.entry)).map(({ key, value = '' }) => [toByteString(key), toByteString(value)]),
    );
    const found = configured === undefined ? [] : tenantDescriptors({ domain: configured, levels, tenant, given });
    const shown = found.slice(0, DESCRIPTORS_SHOWN_MAX);
    const key = { kind: 'tenant', domain: params.domain, name: params.tenant } as const;
    // Each alone, because limits of one request may replace each other.
    const explainAlone = async (each: TenantDescriptor) => {
      const { file, line, entries, needs } = each;
      const request: RateLimitRequest = { domain: inDomain, descriptors: [{ entries }], hits: 1 };
      const [only] = needs.length > 0 ? [] : (await explainLive(request, backend)).descriptors;
      return { ...(only ?? unknown(each)), file, line };
    };
    const [explained, [stored], idle] = await Promise.all([
      Promise.all(shown.map(explainAlone)),
      backend.control.read([key]),
      idleNaming(params, { controlView: backend.controlView, effectInput: effectInputOf(backend) }),
    ]);
    if (configured === undefined && stored === undefined)
      throw new AdminProblem('conflict', `the configuration in force has no domain ${JSON.stringify(params.domain)}; use one that it has`);
    return {
      body: {
        ...{ domain: params.domain, tenant: params.tenant, generation: ruleSet.generation },
        ...(stored?.record.kind === 'tenant' && { record: { ...showRecordDetails(key, stored), ...planAndParent(stored.record) } }),
        descriptors: explained,
        without_effect: idle.map(showIdle),
        omitted: found.length - shown.length,
      },
    };
  },
});

function planAndParent({ plan, parent }: TenantRecord) {
  return { ...(plan !== undefined && { plan }), ...(parent !== undefined && { parent }) };
}

/** A descriptor whose limits depend on entries that the query does not give. */
function unknown({ entries, needs }: TenantDescriptor) {
  return {
    entries: entries.map(({ key, value }) => ({ key: toText(key), value: toText(value) })),
    needs: [...needs],
    mode: 'enforced',
    unlimited: false,
    override: false,
    limits: [],
    replaced: [],
  };
}

export const EXPLAIN_ROUTES: readonly AdminRoute[] = [explain, tenantLimits];
