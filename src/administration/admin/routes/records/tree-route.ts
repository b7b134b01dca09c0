/** The route that shows a tenant in its tree: those above it and a page of those below, each with what is left in its own limits and its pool. */

import { Type, type Static } from '@sinclair/typebox';
import { withoutBlocks } from '../../../../configuration/explain/explanation';
import { tenantDescriptors } from '../../../../configuration/explain/tenant-descriptors';
import { toByteString, toText } from '../../../../domain/descriptor/byte-string';
import type { ByteString } from '../../../../domain/descriptor/descriptor';
import type { Limit } from '../../../../domain/rule/limit';
import type { Match } from '../../../../domain/rule/match';
import { lineageNames } from '../../../../domain/rule/pool';
import { US_PER_MS } from '../../../../lib/time-units';
import { RECORD_BOUNDS } from '../../../../state/control/control-record';
import type { AdminBackend } from '../../backend';
import { AdminProblem } from '../../problem';
import { route } from '../../route/route';
import { domain, object, shownValues } from '../../route/schemas';
import { readSelector } from '../../route/selector-text';
import { currentRules, groupOf, readBuckets, type LiveBucket } from '../../request/live-request';
import { tenant } from './record-schemas';

/** Tenants below one on a page: all of their buckets are read at once. */
const CHILDREN_SHOWN_MAX = 50;

/** Descriptors of each tenant that are looked at. */
const DESCRIPTORS_SHOWN_MAX = 3;

const shownLimit = object({
  ...shownValues,
  entries: Type.Array(object({ key: Type.String(), value: Type.String() }), { description: 'The descriptor under which it counts.' }),
  pool: Type.Boolean({ description: 'Whether it counts the tenant and all below it.' }),
  capacity: Type.Integer({ minimum: 0 }),
  remaining: Type.Integer({ minimum: 0 }),
  debt: Type.Integer({ minimum: 0 }),
  reset_at: Type.String({ format: 'date-time' }),
});

const level = object({
  tenant: Type.String(),
  has_record: Type.Boolean(),
  plan: Type.Optional(Type.String({ description: 'Absent: no descriptor of the domain is for tenants, or all need further entries.' })),
  is_default: Type.Optional(Type.Boolean({ description: 'It is the `default_plan`.' })),
  members_of: Type.Optional(Type.String({ description: 'The tenant above whose plan names this one for members.' })),
  unlimited: Type.Boolean(),
  blocked: Type.Boolean(),
  children: Type.Integer({ minimum: 0, description: 'Tenants directly below it.' }),
  limits: Type.Array(shownLimit, { description: 'Its own limits and those of its own pool.' }),
});

type Level = Static<typeof level>;

export const tenantTree = route({
  method: 'GET',
  path: '/v1/tenants/{domain}/{tenant}/tree',
  id: 'getTenantTree',
  tag: 'tenants',
  role: 'viewer',
  summary: 'Shows the tenants above and directly below a tenant, with what is left of the own limits and of the pool of each.',
  params: object({ domain, tenant }),
  query: object({
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: CHILDREN_SHOWN_MAX, description: 'Most tenants below it on a page.' })),
    cursor: Type.Optional(Type.String({ minLength: 1, maxLength: RECORD_BOUNDS.nameBytes, description: '`next` of the page before.' })),
    entry: Type.Optional(
      Type.String({ minLength: 1, maxLength: 1024, description: 'Values of entries above the tenant: `key=value,key=value`.' }),
    ),
  }),
  reply: object({
    domain: Type.String(),
    levels: Type.Array(level, { description: 'From the root down to the tenant.' }),
    children: Type.Array(level, { description: 'In the order of the bytes of their names.' }),
    next: Type.Optional(Type.String({ description: '`cursor` of the next page. Absent: this one is the last.' })),
  }),
  problems: ['conflict', 'unavailable'],
  handle: async ({ params, query, pageMax }, backend) => {
    const inDomain = toByteString(params.domain);
    if (!currentRules(backend).ruleSet.domains.has(inDomain))
      throw new AdminProblem('conflict', `the configuration in force has no domain ${JSON.stringify(params.domain)}; use one that it has`);
    const { names, next } = backend.controlView.childrenOf(
      { domain: params.domain, name: params.tenant },
      {
        limit: Math.min(pageMax, query.limit ?? CHILDREN_SHOWN_MAX, CHILDREN_SHOWN_MAX),
        after: query.cursor === undefined ? undefined : toByteString(query.cursor),
      },
    );
    const line = lineageNames(inDomain, toByteString(params.tenant), backend.controlView).reverse();
    const given = query.entry === undefined ? [] : readSelector(query.entry);
    const levels = await readLevels([...line, ...names], {
      domain: params.domain,
      given: new Map(given.map(({ key, value = '' }) => [toByteString(key), toByteString(value)])),
      backend,
    });
    return {
      body: {
        domain: params.domain,
        levels: levels.slice(0, line.length),
        children: levels.slice(line.length),
        ...(next !== undefined && { next: toText(next) }),
      },
    };
  },
});

interface ReadLevelsInput {
  readonly domain: string;
  readonly given: ReadonlyMap<ByteString, ByteString>;
  readonly backend: AdminBackend;
}

/** One read of the store for all of them. */
async function readLevels(tenants: readonly ByteString[], input: ReadLevelsInput): Promise<Level[]> {
  const asked = tenants.map((each) => ({ name: each, found: ownTakes(each, input) }));
  const live = await readBuckets(
    asked.flatMap(({ found }) => found.flatMap(({ counted }) => counted.map(({ take }) => take))),
    input.backend,
  );
  let at = 0;
  return asked.map(({ name, found }) => {
    const limits = found.flatMap(({ entries, counted }) =>
      counted.map(({ limit }) => {
        const bucket = live[at];
        at += 1;
        if (bucket === undefined) throw new Error('a take without its bucket');
        return showLimit(limit, { bucket, entries });
      }),
    );
    return showLevel(name, { found, limits, ...input });
  });
}

type OwnTakes = ReturnType<typeof ownTakes>;

/** The takes of the tenant itself: its own limits and its own pool, under each descriptor. */
function ownTakes(name: ByteString, { domain: inDomain, given, backend }: ReadLevelsInput) {
  const { ruleSet, levels } = currentRules(backend);
  const configured = ruleSet.domains.get(toByteString(inDomain));
  const descriptors = configured === undefined ? [] : tenantDescriptors({ domain: configured, levels, tenant: name, given });
  return descriptors
    .filter(({ needs }) => needs.length === 0)
    .slice(0, DESCRIPTORS_SHOWN_MAX)
    .map(({ entries }) => {
      const request = { domain: toByteString(inDomain), descriptors: [{ entries }], hits: 1 };
      const [match] = groupOf(request, backend).matched.matches;
      // A block and a pass charge nothing, but something is left all the same.
      const { takes, matched } = groupOf(request, backend, { control: withoutBlocks(backend.controlView), admitsAll: true });
      const counted = (matched.matches[0]?.limits ?? []).flatMap((limit, i) => {
        const take = takes[i];
        return take === undefined || (limit.pool !== undefined && limit.pool.tenant !== name) ? [] : [{ limit, take }];
      });
      return { entries, match, counted };
    });
}

function showLimit(
  { name, requestsPerUnit, unit, unitMultiplier, capacity, pool, show }: Limit,
  { bucket: { verdict, nowUs }, entries }: { readonly bucket: LiveBucket; readonly entries: OwnTakes[number]['entries'] },
) {
  return {
    name,
    requests_per_unit: requestsPerUnit,
    unit,
    unit_multiplier: unitMultiplier,
    entries: entries.map(({ key, value }) => ({ key: toText(key), value: toText(value) })),
    pool: pool !== undefined,
    capacity,
    remaining: verdict.remaining,
    debt: verdict.debt ?? 0,
    reset_at: new Date((nowUs + verdict.resetAfterUs) / US_PER_MS).toISOString(),
    ...(show && { show }),
  };
}

interface ShowLevelInput extends ReadLevelsInput {
  readonly found: OwnTakes;
  readonly limits: Level['limits'];
}

function showLevel(name: ByteString, { found, limits, domain: inDomain, backend }: ShowLevelInput): Level {
  const named = { domain: inDomain, name: toText(name) };
  const matches = found.flatMap(({ match }): Match[] => (match === undefined ? [] : [match]));
  const plan = matches.find((match) => match.plan !== undefined)?.plan;
  return {
    tenant: named.name,
    has_record: backend.controlView.get({ kind: 'tenant', ...named }) !== undefined,
    ...(plan && { plan: toText(plan.plan.name), is_default: plan.isDefault }),
    ...(plan?.planFrom !== undefined && { members_of: toText(plan.planFrom) }),
    unlimited: matches.some((match) => match.unlimited),
    blocked: matches.some((match) => match.block !== undefined),
    children: backend.controlView.childrenOf(named, { limit: 0 }).count,
    limits,
  };
}
