/** Operators see what is left on every level of a tree of tenants, credits and resets reach the levels that they should, and a refused move says why. */

import { callAdmin } from '../../../support/admin/admin-client';
import { startAdminServer, TOKENS, type AdminHarness } from '../../../support/admin/admin-server';

const YAML = `
domain: payments
plans:
  seat: { rate_limit: { name: seat, unit: day, requests_per_unit: 10 } }
  team: { pool: [{ name: team_pool, unit: day, requests_per_unit: 40 }] }
  org:
    rate_limit: { name: own, unit: day, requests_per_unit: 5 }
    pool: [{ name: org_pool, unit: day, requests_per_unit: 100 }]
    members: seat
descriptors: [{ key: merchant, tenant: true, default_plan: seat }]
`;

let server: AdminHarness;

const call = (method: 'GET' | 'PUT' | 'POST' | 'DELETE', path: string, { body, query = '' }: { body?: unknown; query?: string } = {}) =>
  callAdmin(server.url, { method, path, query, token: TOKENS.admin, ...(body !== undefined && { body }) });
const place = (tenant: string, body: object) => call('PUT', `/v1/tenants/payments/${tenant}`, { body });

/** Takes hits of the tenant as a request does. */
async function take(merchant: string, hits: number): Promise<boolean> {
  const { json } = await call('POST', '/v1/explain', {
    body: { domain: 'payments', descriptors: [{ entries: [{ key: 'merchant', value: merchant }] }] },
  });
  const { buckets } = json as { readonly buckets: readonly { readonly key: string; readonly limit: { readonly capacity: number } }[] };
  const [verdict] = await server.store.take([
    {
      takes: buckets.map(({ key, limit: { capacity } }) => ({
        bucketKey: key,
        limit: { algorithm: 'token_bucket', windowUs: 86_400_000_000, requestsPerUnit: capacity, capacity },
        hits,
        mode: 'enforced',
        descriptor: 0,
      })),
      quotaAlwaysFits: false,
      shadow: false,
    },
  ]);
  return verdict !== undefined && 'overLimit' in verdict && !verdict.overLimit;
}

/** What is left: `tenant limit=left,limit=left`, from the root down, then those below. */
async function left(tenant: string, query = ''): Promise<string[]> {
  const { json } = await call('GET', `/v1/tenants/payments/${tenant}/tree`, { query });
  const { levels, children } = json as Tree;
  return [...levels, ...children].map(
    (level) => `${level.tenant} ${level.limits.map(({ name, remaining }) => `${name}=${remaining}`).join(',')}`,
  );
}

interface Level {
  readonly tenant: string;
  readonly plan: string;
  readonly limits: readonly { readonly name: string; readonly remaining: number; readonly pool: boolean }[];
}

interface Tree {
  readonly levels: readonly Level[];
  readonly children: readonly Level[];
  readonly next?: string;
}

beforeEach(async () => {
  server = await startAdminServer({ yaml: YAML });
  await place('org', { plan: 'org' });
  await place('team', { plan: 'team', parent: 'org' });
  for (const name of ['m1', 'm2', 'm3']) await place(name, { parent: 'team' });
});

afterEach(() => server.close());

test('the tree has the levels above, what is left on each, and those below in pages', async () => {
  expect(await take('m1', 7)).toBe(true);
  expect(await left('m1')).toEqual(['org own=5,org_pool=93', 'team team_pool=33', 'm1 seat=3']);
  const { json } = await call('GET', '/v1/tenants/payments/team/tree', { query: 'limit=2' });
  expect(json).toMatchObject({
    levels: [
      { tenant: 'org', plan: 'org', is_default: false, has_record: true, children: 1, blocked: false },
      { tenant: 'team', plan: 'team', children: 3, limits: [{ pool: true, capacity: 40, remaining: 33 }] },
    ],
    children: [
      { tenant: 'm1', plan: 'seat', members_of: 'org' },
      { tenant: 'm2', plan: 'seat' },
    ],
    next: 'm2',
  });
  expect(await left('team', 'limit=2&cursor=m2')).toEqual(['org own=5,org_pool=93', 'team team_pool=33', 'm3 seat=10']);
});

test('a tree shows a parent without a record, a block of a level above, and nothing of an unknown domain', async () => {
  await place('alone', { plan: 'seat', parent: 'nobody' });
  const { json } = await call('GET', '/v1/tenants/payments/alone/tree');
  expect(json).toMatchObject({ levels: [{ tenant: 'nobody', has_record: false, plan: 'seat', is_default: true }, { tenant: 'alone' }] });
  await call('PUT', '/v1/blocks/payments/b', { body: { entries: [{ key: 'merchant', value: 'org' }] } });
  const blocked = await call('GET', '/v1/tenants/payments/m1/tree');
  expect(blocked.json).toMatchObject({ levels: [{ blocked: true }, { blocked: true }, { blocked: true, limits: [{ remaining: 10 }] }] });
  expect((await call('GET', '/v1/tenants/nowhere/m1/tree')).status).toBe(409);
});

test('a move is written with the parent before it, and a cycle, a fifth level or the deletion of a parent is refused with a reason', async () => {
  expect((await place('m1', { plan: 'seat', parent: 'org' })).json).toMatchObject({ before: { parent: 'team' }, after: { parent: 'org' } });
  const cycle = await place('org', { plan: 'org', parent: 'm2' });
  expect([cycle.status, cycle.json]).toMatchObject([
    409,
    { detail: 'the parent is below the tenant; name another parent, or move that one first' },
  ]);
  await place('key', { parent: 'm2' });
  const deep = await place('session', { parent: 'key' });
  expect([deep.status, deep.json]).toMatchObject([
    409,
    { detail: 'the tree would have more than 4 levels; name a parent nearer to the top' },
  ]);
  const deleted = await call('DELETE', '/v1/tenants/payments/team');
  expect([deleted.status, deleted.json]).toMatchObject([
    409,
    { detail: 'the tenant has 2 tenant(s) directly below it; give them another parent, or delete them first' },
  ]);
  expect((await place('m1', { parent: 'm1' })).status).toBe(400);
  expect((await place('m1', { parent: 'org', until: '2099-01-01T00:00:00Z' })).status).toBe(400);
  expect((await place('m1', {})).status).toBe(400);
});

test('a parent without a record is a warning, which strict refuses', async () => {
  const { json } = await place('m9', { parent: 'later' });
  expect(json).toMatchObject({ changed: true, warnings: [{ code: 'unknown_parent', effect: 'partial' }] });
  const strict = await call('PUT', '/v1/tenants/payments/m8', { body: { parent: 'later' }, query: 'strict=true' });
  expect(strict.status).toBe(409);
});

test('the explanation names the owner of each pool, and where its limit comes from', async () => {
  await call('PUT', '/v1/overrides/payments/more', {
    body: { entries: [{ key: 'merchant', value: 'org' }], limit: { name: 'org_pool', unit: 'day', requests_per_unit: 200 } },
  });
  await call('PUT', '/v1/plans/payments/team', { body: { limits: [{ name: 'team_pool', unit: 'day', requests_per_unit: 50 }] } });
  const { json } = await call('GET', '/v1/tenants/payments/m1/limits');
  expect(json).toMatchObject({
    record: { parent: 'team' },
    descriptors: [
      {
        plan: 'seat',
        plan_source: { members_of: 'org', is_default: false },
        above: [
          { tenant: 'team', plan: 'team' },
          { tenant: 'org', plan: 'org' },
        ],
        limits: [
          { name: 'seat', source: { from: 'plan', line: 4 } },
          {
            name: 'team_pool',
            pool: 'team',
            requests_per_unit: 50,
            source: { from: 'plan_values', line: 5, replaces: { requests_per_unit: 40 } },
          },
          { name: 'org_pool', pool: 'org', requests_per_unit: 200, source: { from: 'override', record: { id: 'more' }, line: 8 } },
        ],
      },
    ],
  });
});

test('a credit undoes charges on every level, or on one that it names; a reset leaves the pools above alone', async () => {
  const entries = [{ key: 'merchant', value: 'm1' }];
  await take('m1', 8);
  await call('POST', '/v1/credits', { body: { domain: 'payments', entries, hits: 3 } });
  expect(await left('m1')).toEqual(['org own=5,org_pool=95', 'team team_pool=35', 'm1 seat=5']);
  await call('POST', '/v1/credits', {
    body: { domain: 'payments', entries: [{ key: 'merchant', value: 'org' }], limit: 'org_pool', hits: 2 },
  });
  expect(await left('m1')).toEqual(['org own=5,org_pool=97', 'team team_pool=35', 'm1 seat=5']);
  await call('POST', '/v1/buckets/reset', { body: { domain: 'payments', entries } });
  expect(await left('m1')).toEqual(['org own=5,org_pool=97', 'team team_pool=35', 'm1 seat=10']);
  await call('POST', '/v1/buckets/reset', { body: { domain: 'payments', entries: [{ key: 'merchant', value: 'team' }] } });
  expect(await left('m1')).toEqual(['org own=5,org_pool=97', 'team team_pool=40', 'm1 seat=10']);
  const foreign = await call('POST', '/v1/buckets/reset', { body: { domain: 'payments', entries, limit: 'org_pool' } });
  expect(foreign.status).toBe(409);
});

test('an override without a name is for the own limit, and one with the name of a pool for that pool; neither has a warning', async () => {
  const entries = [{ key: 'merchant', value: 'org' }];
  for (const limit of [
    { unit: 'day', requests_per_unit: 9 },
    { name: 'org_pool', unit: 'day', requests_per_unit: 300 },
  ]) {
    const { json } = await call('PUT', '/v1/overrides/payments/o', { body: { entries, limit } });
    expect(json).toMatchObject({ changed: true, warnings: [] });
  }
  const member = await call('PUT', '/v1/overrides/payments/p', {
    body: { entries: [{ key: 'merchant', value: 'm1' }], limit: { name: 'org_pool', unit: 'day', requests_per_unit: 300 } },
  });
  expect(member.json).toMatchObject({ warnings: [{ code: 'unknown_limit', effect: 'none' }] });
  const values = await call('PUT', '/v1/plans/payments/org', {
    body: { limits: [{ name: 'org_pool', unit: 'day', requests_per_unit: 70 }] },
  });
  expect(values.json).toMatchObject({ warnings: [] });
});

test('a tenant sees the pools that it shares, without their owners and without other members', async () => {
  await take('m2', 9);
  await take('m1', 2);
  const { status, json } = await callAdmin(server.url, { path: '/v1/usage', token: TOKENS.tenant });
  expect(status).toBe(200);
  expect(json).toMatchObject({
    tenant: 'm1',
    descriptors: [
      {
        limits: [
          { name: 'seat', used: 2, remaining: 8 },
          { name: 'team_pool', pool: true, used: 11, remaining: 29 },
          { name: 'org_pool', pool: true, used: 11, remaining: 89 },
        ],
      },
    ],
  });
  expect(JSON.stringify(json)).not.toMatch(/m2|"team"|"org"/);
});

test('an import moves whom its lines name, refuses cycles alone, and moves nobody without a parent', async () => {
  const post = (items: readonly object[]) => call('POST', '/v1/tenants/payments', { body: { items } });
  const first = await post([
    { tenant: 'm1', parent: 'org' },
    { tenant: 'org', plan: 'org', parent: 'm2' },
    { tenant: 'm2', plan: 'seat' },
  ]);
  expect(first.json).toMatchObject({
    written: 2,
    refused: [{ index: 1, problem: expect.stringContaining('parent: the parent is below') as string }],
  });
  const { json } = await call('GET', '/v1/tenants/payments/m2');
  expect(json).toMatchObject({ plan: 'seat', parent: 'team' });
  const audit = await call('GET', '/v1/audit');
  expect((audit.json as { readonly items: readonly unknown[] }).items[0]).toMatchObject({
    action: 'import',
    details: { moved: [{ tenant: 'm1', from: 'team', to: 'org' }] },
  });
});
