/** The route of a tenant's own usage, for the portal of its owner: limits, what is used and left, and when it is back. */

import { Type } from '@sinclair/typebox';
import { toByteString, toText } from '../../../domain/descriptor/byte-string';
import type { Entry } from '../../../domain/descriptor/descriptor';
import { tenantDescriptors, type TenantDescriptor } from '../../../configuration/explain/tenant-descriptors';
import { UnavailableError } from '../../../lib/errors';
import { MS_PER_S } from '../../../lib/time-units';
import type { AdminBackend } from '../backend';
import { AdminProblem } from '../problem';
import type { Caller, TenantName } from '../role';
import { route } from '../route/route';
import { amountForm, domain, object } from '../route/schemas';
import { KeyForm } from '../../../state/top/key-text';
import { explainLive } from './live-explanation';
import { currentRules } from '../request/live-request';

/** Most descriptors of one answer. */
const DESCRIPTORS_MAX = 20;

/** A repeated question within this time gets the answer before it: tenants cost the store one read a second each at most. */
const FRESH_MS = MS_PER_S;

/** Tenants whose usage is read in a second, and so the most answers that are kept: the rest of the store's queue is for the other routes. */
const READS_MAX = 64;

/** The longest time that denials are counted over, in minutes. */
const DENIED_MINUTES = 60;

/** Keys that are looked through for the denials of a descriptor. */
const DENIED_KEYS_MAX = 100;

const limit = object({
  name: Type.String({ description: 'The name of the limit in the configuration; may be empty.' }),
  requests_per_unit: Type.Integer({ minimum: 0 }),
  unit: Type.String(),
  unit_multiplier: Type.Integer({ minimum: 1 }),
  capacity: Type.Integer({ minimum: 0, description: 'Most hits at once.' }),
  used: Type.Integer({ minimum: 0 }),
  remaining: Type.Integer({ minimum: 0 }),
  reserved: Type.Optional(
    Type.Integer({
      minimum: 1,
      description: 'The part of the capacity that only requests of some classes may use; `remaining` leaves it out.',
    }),
  ),
  debt: Type.Integer({ minimum: 0, description: 'Hits below zero.' }),
  reset_at: Type.String({ format: 'date-time', description: 'When all of it is back; of a budget in total, in 100 years.' }),
  show: Type.Optional(amountForm),
  pool: Type.Optional(
    Type.Literal(true, { description: 'Shared: used and remaining are those of all members together. Absent: it is of the tenant alone.' }),
  ),
});

const usage = object({
  domain: Type.String(),
  tenant: Type.String(),
  at: Type.String({ format: 'date-time' }),
  descriptors: Type.Array(
    object({
      entries: Type.Array(object({ key: Type.String(), value: Type.String() })),
      plan: Type.Optional(Type.String()),
      unlimited: Type.Boolean(),
      blocked: Type.Boolean({ description: 'All its requests are denied now.' }),
      blocked_until: Type.Optional(Type.String({ format: 'date-time' })),
      limits: Type.Array(limit),
      denied: Type.Optional(
        Type.Number({
          minimum: 0,
          description: `Hits denied in the last ${DENIED_MINUTES} minutes. Absent: few or none, or TOP_KEYS is off.`,
        }),
      ),
    }),
  ),
});

type Usage = (typeof usage)['static'];

interface Answer {
  readonly atMs: number;
  readonly usage: Promise<Usage>;
}

/** By domain and tenant: those that are not older than `FRESH_MS`. */
const answers = new WeakMap<AdminBackend, Map<string, Answer>>();

export const tenantUsage = route({
  method: 'GET',
  path: '/v1/usage',
  id: 'getUsage',
  tag: 'tenants',
  role: 'tenant',
  isForPages: true,
  summary:
    "Shows a tenant's limits, with the hits used and left, and denials of the last hour. A caller with the role `tenant` sees its own tenant and nothing else.",
  query: object({
    domain: Type.Optional(domain),
    tenant: Type.Optional(Type.String({ minLength: 1, maxLength: 1024, description: 'Not needed with the role `tenant`.' })),
  }),
  reply: usage,
  problems: ['conflict', 'unavailable'],
  handle: async ({ caller, query }, backend) => ({ body: await answerFor(subjectOf(caller, query), backend) }),
});

function subjectOf({ tenant: own, role }: Caller, asked: Partial<TenantName>): TenantName {
  if (role !== 'tenant') {
    const { domain: inDomain, tenant } = asked;
    if (inDomain === undefined || tenant === undefined) throw new AdminProblem('invalid', 'give domain and tenant in the query');
    return { domain: inDomain, tenant };
  }
  if (own === undefined) throw new AdminProblem('forbidden', 'the credentials name no tenant');
  const { domain: inDomain = own.domain, tenant = own.tenant } = asked;
  if (inDomain !== own.domain || tenant !== own.tenant)
    throw new AdminProblem('forbidden', 'the credentials are for another tenant; leave domain and tenant out');
  return own;
}

/** Questions about one tenant share an answer, so that a flood of them costs the store no more than one. */
function answerFor(subject: TenantName, backend: AdminBackend): Promise<Usage> {
  let known = answers.get(backend);
  if (known === undefined) answers.set(backend, (known = new Map<string, Answer>()));
  const nowMs = backend.nowMs();
  const key = JSON.stringify([subject.domain, subject.tenant]);
  for (const [each, { atMs }] of known) if (nowMs - atMs >= FRESH_MS || nowMs < atMs) known.delete(each);
  const fresh = known.get(key);
  if (fresh !== undefined) return fresh.usage;
  if (known.size >= READS_MAX) throw new UnavailableError('too many tenants ask at once; try again in a second');
  const answer = { atMs: nowMs, usage: readUsage(subject, backend) };
  known.set(key, answer);
  // A later answer stays.
  answer.usage.catch(() => known.get(key) === answer && known.delete(key));
  return answer.usage;
}

async function readUsage({ domain: name, tenant }: TenantName, backend: AdminBackend): Promise<Usage> {
  const { ruleSet, levels } = currentRules(backend);
  const configured = ruleSet.domains.get(toByteString(name));
  if (configured === undefined) throw new AdminProblem('conflict', 'the configuration in force does not have the domain');
  const found = tenantDescriptors({ domain: configured, levels, tenant: toByteString(tenant), given: new Map() });
  const shown = found.filter(({ needs }) => needs.length === 0).slice(0, DESCRIPTORS_MAX);
  const [descriptors, denied] = await Promise.all([
    Promise.all(shown.map((each) => usageOf(each, name, backend))),
    deniedIn(name, backend),
  ]);
  return {
    domain: name,
    tenant,
    at: new Date(backend.nowMs()).toISOString(),
    descriptors: descriptors.map((each, i) => {
      const count = denied.get(topKeyText(shown[i]?.entries ?? []));
      return { ...each, ...(count !== undefined && { denied: count }) };
    }),
  };
}

/** Each alone, because limits of one request may replace each other. Only what the tenant may know: no reasons, authors or files. */
async function usageOf({ entries }: TenantDescriptor, name: string, backend: AdminBackend) {
  const request = { domain: toByteString(name), descriptors: [{ entries }], hits: 1 };
  const { descriptors } = await explainLive(request, backend);
  const [explained] = descriptors;
  const until = explained?.block?.until;
  return {
    entries: entries.map(({ key, value }) => ({ key: toText(key), value: toText(value) })),
    ...(explained?.plan !== undefined && { plan: explained.plan }),
    unlimited: explained === undefined || explained.unlimited || explained.pass !== undefined,
    blocked: explained?.block !== undefined,
    ...(until !== undefined && { blocked_until: until }),
    limits: (explained?.limits ?? []).flatMap(usageOfLimit),
  };
}

type ShownLimit = Awaited<ReturnType<typeof explainLive>>['descriptors'][number]['limits'][number];

/** A pool shows neither its owner nor other members. */
function usageOfLimit({ name, requests_per_unit, unit, unit_multiplier, capacity: open, reserved, bucket, pool, show }: ShownLimit) {
  if (bucket === undefined) return [];
  const { remaining, reset_at } = bucket;
  const capacity = open + (reserved ?? 0);
  const used = Math.max(0, open - remaining) + bucket.debt;
  const debt = Math.max(0, bucket.debt - (reserved ?? 0));
  const kept = reserved === undefined ? undefined : { reserved };
  const shared = pool === undefined ? undefined : ({ pool: true } as const);
  const form = show && { show };
  return [{ name, requests_per_unit, unit, unit_multiplier, capacity, used, remaining, ...kept, debt, reset_at, ...form, ...shared }];
}

/** As lists of top keys write the entries. */
function topKeyText(entries: readonly Entry[]): string {
  const form = new KeyForm({ path: [], entries });
  return form.textOf(form.keyOf(entries));
}

/** The denials of the domain by the text of their entries, from the top keys; none if they are off. */
async function deniedIn(name: string, { top }: AdminBackend): Promise<ReadonlyMap<string, number>> {
  try {
    const { items } = await top.top({ question: 'denied', minutes: DENIED_MINUTES, count: DENIED_KEYS_MAX, domain: name });
    return new Map(items.map(({ entries, count }) => [entries, count]));
  } catch {
    return new Map();
  }
}
