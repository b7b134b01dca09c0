/** The admin API explains each limit of a tenant with its source, and each record that decides a request. */

import { callAdmin } from '../../support/admin/admin-client';
import { startAdminServer, TOKENS, type AdminHarness } from '../../support/admin/admin-server';

const SHOP = `domain: shop
plans:
  free:
    rate_limit: { name: free_plan, unit: minute, requests_per_unit: 100 }
  gold:
    rate_limits:
      - { name: gold_minute, unit: minute, requests_per_unit: 500 }
      - { name: gold_day, unit: day, requests_per_unit: 90000 }
descriptors:
  - key: merchant
    tenant: true
    default_plan: free
    in_flight: { max: 4, hold: 10s }
  - key: merchant
    value: vip
    rate_limit: { name: contract, unit: minute, requests_per_unit: 7, candidate: { requests_per_unit: 3 } }
  - key: region
    descriptors:
      - key: merchant
        tenant: true
        default_plan: gold
  - key: zone
    value: eu
    descriptors:
      - { key: merchant, value: "m*", tenant: true, default_plan: free }
`;

let server: AdminHarness;

beforeAll(async () => {
  server = await startAdminServer({ yaml: SHOP });
});

afterAll(async () => {
  expect(server.errors).toEqual([]);
  await server.close();
});

interface Limit {
  readonly name: string;
  readonly requests_per_unit: number;
  readonly bucket_key: string;
  readonly source: Readonly<Record<string, unknown>>;
  readonly bucket?: { readonly remaining: number };
  readonly candidate?: Limit;
}

interface Descriptor {
  readonly rule?: string;
  readonly needs?: readonly string[];
  readonly plan?: string;
  readonly line: number;
  readonly limits: readonly Limit[];
}

const put = async (path: string, body: object) => {
  const { status, body: text } = await callAdmin(server.url, { method: 'PUT', path: `/v1/${path}`, token: TOKENS.admin, body });
  expect([status, text]).toEqual([200, text]);
};

const remove = async (path: string) => {
  expect(await callAdmin(server.url, { method: 'DELETE', path: `/v1/${path}`, token: TOKENS.admin })).toMatchObject({ status: 200 });
};

async function limitsOf(tenant: string, query = '') {
  const { status, json } = await callAdmin(server.url, { path: `/v1/tenants/shop/${tenant}/limits`, query, token: TOKENS.viewer });
  expect(status).toBe(200);
  return json as { readonly record?: object; readonly descriptors: readonly Descriptor[] };
}

async function explain(merchant: string) {
  const body = { domain: 'shop', descriptors: [{ entries: [{ key: 'merchant', value: merchant }] }] };
  const { status, json } = await callAdmin(server.url, { method: 'POST', path: '/v1/explain', token: TOKENS.viewer, body });
  expect(status).toBe(200);
  return json as {
    readonly over_limit: boolean;
    readonly control: readonly object[];
    readonly buckets: readonly { readonly key: string }[];
    readonly explanation: { readonly descriptors: readonly Descriptor[] };
  };
}

test('a tenant without a record has the default plan, at its line of the file, with full buckets', async () => {
  const { record, descriptors } = await limitsOf('new');
  expect(record).toBeUndefined();
  const [plain, below, ...others] = descriptors;
  expect(others).toEqual([]);
  expect(plain).toMatchObject({
    rule: 'merchant',
    plan: 'free',
    plan_source: { is_default: true, file: 'limits.yaml', line: 3 },
    file: 'limits.yaml',
    line: 10,
    limits: [
      { name: 'free_plan', source: { from: 'plan', file: 'limits.yaml', line: 4 }, bucket: { remaining: 100 } },
      { algorithm: 'in_flight', source: { from: 'rule', line: 13 }, bucket: { remaining: 4 } },
    ],
  });
  expect(below).toMatchObject({ needs: ['region'], limits: [], line: 19 });
});

test('each source of a limit: the plan of the record, run-time values, an override with its reason, a contract in the file', async () => {
  await put('tenants/shop/m1', { plan: 'gold', reason: 'upgrade' });
  const gold = await limitsOf('m1', 'entry=region%3Dus');
  expect(gold.record).toMatchObject({ plan: 'gold', reason: 'upgrade', author: 'admin-1' });
  expect(gold.descriptors.map(({ rule }) => rule)).toEqual(['merchant', 'region.merchant', 'zone_eu.merchant_m*']);
  expect(gold.descriptors[0]!.limits.map(({ name, source }) => [name, source])).toEqual([
    ['gold_minute', { from: 'plan', file: 'limits.yaml', line: 7 }],
    ['gold_day', { from: 'plan', file: 'limits.yaml', line: 8 }],
    ['in_flight', { from: 'rule', file: 'limits.yaml', line: 13 }],
  ]);
  await put('plans/shop/gold', { limits: [{ name: 'gold_day', requests_per_unit: 80_000, unit: 'day' }], reason: 'busy' });
  await put('overrides/shop/o1', {
    entries: [{ key: 'merchant', value: 'm1' }],
    limit: { name: 'gold_minute', requests_per_unit: 900, unit: 'minute' },
    until: '2100-01-01T00:00:00Z',
    reason: 'sale',
  });
  const { limits } = (await limitsOf('m1')).descriptors[0]!;
  expect(limits).toMatchObject([
    {
      requests_per_unit: 900,
      bucket: { remaining: 900 },
      source: {
        from: 'override',
        record: { kind: 'override', id: 'o1', until: '2100-01-01T00:00:00.000Z', reason: 'sale', author: 'admin-1' },
        line: 7,
        replaces: { requests_per_unit: 500 },
      },
    },
    {
      requests_per_unit: 80_000,
      source: {
        from: 'plan_values',
        record: { kind: 'plan', id: 'gold', reason: 'busy' },
        line: 8,
        replaces: { requests_per_unit: 90_000 },
      },
    },
    { algorithm: 'in_flight' },
  ]);
  expect((await limitsOf('vip')).descriptors[0]).toMatchObject({
    rule: 'merchant_vip',
    limits: [
      { name: 'contract', source: { from: 'rule', line: 16 }, candidate: { requests_per_unit: 3, source: { from: 'rule', line: 16 } } },
    ],
  });
  await remove('overrides/shop/o1');
  await remove('plans/shop/gold');
});

test('an explanation shows every record that decides, and the limits that a block or a pass keeps from applying', async () => {
  await put('tenants/shop/m2', { plan: 'gold', reason: 'upgrade' });
  const entries = [{ key: 'merchant', value: 'm2' }];
  await put('overrides/shop/o2', { entries, limit: { name: 'gold_minute', requests_per_unit: 9, unit: 'minute' }, reason: 'sale' });
  const open = await explain('m2');
  expect(open).toMatchObject({
    over_limit: false,
    control: [
      { descriptor: 0, kind: 'tenant', id: 'm2', reason: 'upgrade' },
      { descriptor: 0, kind: 'override', id: 'o2', reason: 'sale' },
    ],
  });
  expect(open.explanation.descriptors[0]!.limits.map(({ source: { from } }) => from)).toEqual(['override', 'plan', 'rule']);
  await put('passes/shop/p2', { entries, reason: 'test' });
  const passed = await explain('m2');
  expect(passed).toMatchObject({ over_limit: false, explanation: { descriptors: [{ pass: { kind: 'pass', id: 'p2', reason: 'test' } }] } });
  expect(passed.explanation.descriptors[0]!.limits).toHaveLength(3);
  await put('blocks/shop/b2', { entries, reason: 'fraud', until: '2100-01-01T00:00:00Z' });
  const blocked = await explain('m2');
  expect(blocked).toMatchObject({
    over_limit: true,
    control: [{ kind: 'tenant' }, { kind: 'block', id: 'b2', reason: 'fraud', until: '2100-01-01T00:00:00.000Z' }],
    explanation: { descriptors: [{ block: { id: 'b2' }, pass: { id: 'p2' } }] },
  });
  expect(blocked.buckets.map(({ key }) => key)).toEqual(open.buckets.map(({ key }) => key));
});

test('the limits of a tenant of a domain that does not exist', async () => {
  const reply = await callAdmin(server.url, { path: '/v1/tenants/nowhere/m1/limits', token: TOKENS.viewer });
  expect(reply).toMatchObject({ status: 409, json: { type: 'urn:weir:problem:conflict' } });
});

test('a candidate shows its source and what is left; promoting it is one write that a change in between refuses', async () => {
  const entries = [{ key: 'merchant', value: 'm3' }];
  const limit = { requests_per_unit: 40, unit: 'minute' };
  await put('overrides/shop/try', { entries, limit, candidate: true, reason: 'trial' });
  const limitsNow = async () => (await limitsOf('m3')).descriptors[0]!.limits[0];
  expect(await limitsNow()).toMatchObject({
    requests_per_unit: 100,
    source: { from: 'plan' },
    candidate: { requests_per_unit: 40, bucket: { remaining: 40 }, source: { from: 'override', record: { id: 'try', reason: 'trial' } } },
  });
  const promote = (headers: Record<string, string> = {}, query = '') =>
    callAdmin(server.url, {
      method: 'POST',
      path: '/v1/overrides/shop/try/promote',
      query,
      headers,
      token: TOKENS.support,
      body: {},
    });
  expect((await promote({ 'if-match': '"1"' })).status).toBe(412);
  expect((await promote({}, 'dry_run=true')).json).toMatchObject({ dry_run: true, changed: true, before: { candidate: true } });
  expect(await limitsNow()).toMatchObject({ requests_per_unit: 100 });
  const promoted = await promote();
  expect(promoted).toMatchObject({ status: 200, json: { changed: true, after: { limit: { requests_per_unit: 40 }, reason: 'trial' } } });
  expect((promoted.json as { after: object }).after).not.toHaveProperty('candidate');
  const now = await limitsNow();
  expect(now).toMatchObject({ requests_per_unit: 40, source: { from: 'override', record: { id: 'try', author: 'support-1' } } });
  expect(now).not.toHaveProperty('candidate');
  expect((await promote()).json).toMatchObject({ changed: false });
  const audit = await callAdmin(server.url, { path: '/v1/audit', query: 'limit=1', token: TOKENS.support });
  expect(audit.json).toMatchObject({ items: [{ action: 'promote', before: { candidate: true } }] });
  const missing = await callAdmin(server.url, { method: 'POST', path: '/v1/overrides/shop/none/promote', token: TOKENS.support, body: {} });
  expect(missing.status).toBe(404);
  await remove('overrides/shop/try');
});
