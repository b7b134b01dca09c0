/** A tenant sees its own usage with its own token and nothing else, at most one read of the store a second, from pages of the listed origins only. */

import { generateKeyPairSync } from 'node:crypto';
import { callAdmin } from '../../../support/admin/admin-client';
import { startAdminServer, TOKENS, type AdminHarness } from '../../../support/admin/admin-server';
import type { AdminBackend } from '../../../../src/administration/admin/backend';
import { groupOf, take } from '../../../support/decisions/groups';
import { TokenList } from '../../../../src/administration/admin/auth/token-list';
import { makeJwtVerifier } from '../../../../src/administration/admin/auth/jwt-verifier';

const PORTAL = 'https://portal.example';
const YAML = `
domain: payments
plans: { basic: { rate_limit: { name: calls, unit: day, requests_per_unit: 100 } } }
descriptors: [{ key: merchant, tenant: true, default_plan: basic }, { key: other, rate_limit: { unit: day, requests_per_unit: 7 } }]
`;

interface Usage {
  readonly domain: string;
  readonly tenant: string;
  readonly descriptors: readonly {
    readonly plan?: string;
    readonly blocked: boolean;
    readonly denied?: number;
    readonly limits: readonly { readonly name: string; readonly used: number; readonly remaining: number; readonly reset_at: string }[];
  }[];
}

let server: AdminHarness;
let takes = 0;
let nowMs = Date.now();

beforeEach(async () => {
  server = await startAdminServer({
    yaml: YAML,
    usageOrigins: [PORTAL],
    change: (backend) => ({
      ...backend,
      nowMs: () => nowMs,
      buckets: {
        take: (groups) => {
          takes += 1;
          return backend.buckets.take(groups);
        },
        reset: (keys) => backend.buckets.reset(keys),
        list: (query) => backend.buckets.list(query),
      },
      top: {
        top: async (query) => ({
          ...(await backend.top.top(query)),
          items: [{ domain: 'payments', rule: 'payments.merchant', entries: 'merchant=m1', count: 12, error: 0 }],
        }),
      },
    }),
  });
  takes = 0;
});

afterEach(() => server.close());

const ask = (query = '', token = TOKENS.tenant) => callAdmin(server.url, { path: '/v1/usage', query, token });

test('a tenant sees its plan, its limits, what is used and left, and its denials', async () => {
  await callAdmin(server.url, {
    method: 'POST',
    path: '/v1/credits',
    token: TOKENS.admin,
    body: { domain: 'payments', entries: [{ key: 'merchant', value: 'm1' }], hits: 1 },
  });
  const { status, json } = await ask();
  expect(status).toBe(200);
  expect(json).toMatchObject({
    domain: 'payments',
    tenant: 'm1',
    descriptors: [
      {
        entries: [{ key: 'merchant', value: 'm1' }],
        plan: 'basic',
        unlimited: false,
        blocked: false,
        denied: 12,
        limits: [{ name: 'calls', requests_per_unit: 100, unit: 'day', unit_multiplier: 1, used: 0, remaining: 100, debt: 0 }],
      },
    ],
  });
});

test('a block shows without its reason and author', async () => {
  const body = { entries: [{ key: 'merchant', value: 'm1' }], reason: 'we think that it is fraud' };
  await callAdmin(server.url, { method: 'PUT', path: '/v1/blocks/payments/b', token: TOKENS.support, body });
  const { json, text } = { text: '', ...(await ask()) };
  expect((json as Usage).descriptors[0]?.blocked).toBe(true);
  expect(JSON.stringify(json) + text).not.toMatch(/fraud|support-1|limits\.yaml/);
});

test.each([
  ['another tenant', 'tenant=m2'],
  ['another domain', 'domain=other'],
])('a tenant does not see %s', async (_what, query) => {
  expect(await ask(query)).toMatchObject({ status: 403, json: { type: 'urn:weir:problem:forbidden' } });
});

test('operators name the tenant', async () => {
  expect((await ask('domain=payments&tenant=m2', TOKENS.viewer)).json).toMatchObject({ tenant: 'm2' });
  expect((await ask('', TOKENS.viewer)).status).toBe(400);
  expect((await ask('domain=unknown&tenant=m2', TOKENS.viewer)).status).toBe(409);
});

test('a flood of one tenant reads the store once a second, and one of many tenants leaves room for operators', async () => {
  const answers = await Promise.all(Array.from({ length: 50 }, () => ask()));
  expect(answers.every(({ status }) => status === 200)).toBe(true);
  expect(takes).toBe(1);
  nowMs += 1_000;
  await ask();
  expect(takes).toBe(2);
  const many = await Promise.all(Array.from({ length: 100 }, (_, i) => ask(`domain=payments&tenant=t${i}`, TOKENS.viewer)));
  expect(many.filter(({ status }) => status === 200)).toHaveLength(63);
  expect(many.filter(({ status }) => status === 503)).toHaveLength(37);
  nowMs += 1_000;
  expect((await ask('domain=payments&tenant=t99', TOKENS.viewer)).status).toBe(200);
});

test('only pages of a listed origin may read it, and only this route', async () => {
  const preflight = (path: string, origin: string) =>
    fetch(`${server.url}${path}`, { method: 'OPTIONS', headers: { origin, 'access-control-request-method': 'GET' } });
  const allowed = await preflight('/v1/usage', PORTAL);
  expect([allowed.status, allowed.headers.get('access-control-allow-origin')]).toEqual([204, PORTAL]);
  expect(allowed.headers.get('access-control-allow-headers')).toBe('authorization');
  expect((await preflight('/v1/usage', 'https://evil.example')).headers.get('access-control-allow-origin')).toBeNull();
  expect((await preflight('/v1/rules', PORTAL)).headers.get('access-control-allow-origin')).toBeNull();
  const read = (headers: Readonly<Record<string, string>>) => fetch(`${server.url}/v1/usage`, { headers: { origin: PORTAL, ...headers } });
  const answer = await read({ authorization: `Bearer ${TOKENS.tenant}` });
  expect([answer.status, answer.headers.get('access-control-allow-origin'), answer.headers.get('vary')]).toEqual([200, PORTAL, 'Origin']);
  // A page can read why it was refused.
  const refused = await read({});
  expect([refused.status, refused.headers.get('access-control-allow-origin')]).toEqual([401, PORTAL]);
  const rules = await fetch(`${server.url}/v1/rules`, { headers: { origin: PORTAL, authorization: `Bearer ${TOKENS.viewer}` } });
  expect([rules.status, rules.headers.get('access-control-allow-origin')]).toEqual([200, null]);
});

test('a line of the token file has a domain and a tenant for this role alone', () => {
  const hash = 'a'.repeat(64);
  expect(TokenList.read(`portal tenant ${hash} payments m1`).size).toBe(1);
  expect(() => TokenList.read(`portal tenant ${hash}`)).toThrow('line 1: the role tenant needs a domain and a tenant after the SHA-256');
  expect(() => TokenList.read(`portal viewer ${hash} payments m1`)).toThrow('line 1: the third word must be the SHA-256');
});

test('a JWT of this role names its domain and tenant', async () => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const { SignJWT } = await import('jose');
  const verify = await makeJwtVerifier({
    issuer: 'i',
    audience: 'a',
    roleClaim: 'role',
    keys: () => ({ keys: [{ ...(publicKey.export({ format: 'jwk' }) as { kty: string }), alg: 'ES256' }] }),
  });
  const sign = (claims: Readonly<Record<string, unknown>>) =>
    new SignJWT({ role: 'tenant', ...claims })
      .setProtectedHeader({ alg: 'ES256' })
      .setIssuer('i')
      .setAudience('a')
      .setSubject('portal')
      .setExpirationTime('1h')
      .sign(privateKey);
  expect(await verify(await sign({ weir_domain: 'payments', weir_tenant: 'm1' }))).toEqual({
    name: 'jwt:portal',
    role: 'tenant',
    tenant: { domain: 'payments', tenant: 'm1' },
  });
  for (const claims of [
    {},
    { weir_domain: 'payments' },
    { weir_domain: 'payments', weir_tenant: '' },
    { weir_domain: 1, weir_tenant: 'm1' },
  ])
    expect(await verify(await sign(claims))).toBeUndefined();
});

test('of a limit with a reserve a tenant sees the whole, and what is left without a class', async () => {
  let store: AdminBackend['buckets'] | undefined;
  const yaml = YAML.replace('domain: payments', 'domain: payments\nalgorithm: fixed_window').replace(
    'default_plan: basic }',
    'default_plan: basic, reserve: { entry: priority, for: { critical: 20% } } }',
  );
  await server.close();
  server = await startAdminServer({
    yaml,
    change: (backend) => {
      store = backend.buckets;
      return { ...backend, nowMs: () => nowMs };
    },
  });
  const entries = [
    { key: 'merchant', value: 'm1' },
    { key: 'priority', value: 'critical' },
  ];
  const body = { domain: 'payments', descriptors: [{ entries }] };
  const explained = await callAdmin(server.url, { method: 'POST', path: '/v1/explain', token: TOKENS.admin, body });
  expect(explained.json).toMatchObject({
    explanation: { descriptors: [{ reserve: { entry: 'priority', class: 'critical', kept_percent: 0 }, limits: [{ capacity: 100 }] }] },
  });
  const [{ key }] = (explained.json as { readonly buckets: readonly [{ readonly key: string }] }).buckets;
  const whole = { algorithm: 'fixed_window' as const, windowUs: 86_400_000_000, requestsPerUnit: 100, capacity: 100 };
  const usageAfter = async (hits: number) => {
    await store?.take([groupOf([take(key, { limit: whole, hits })])]);
    nowMs += 2_000;
    const { json } = await callAdmin(server.url, { path: '/v1/usage', token: TOKENS.tenant });
    return (json as Usage).descriptors[0]?.limits[0];
  };
  const shared = { requests_per_unit: 100, capacity: 100, reserved: 20, debt: 0 };
  expect(await usageAfter(30)).toMatchObject({ ...shared, used: 30, remaining: 50 });
  expect(await usageAfter(60)).toMatchObject({ ...shared, used: 90, remaining: 0 });
});
