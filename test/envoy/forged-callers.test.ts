/** Forged headers, tokens and paths gain nothing through the published Envoy configuration. */
import { resolve } from 'node:path';
import type { HttpRequest } from '../support/clients/http-client';
import { startWeir, type WeirProcess } from '../support/processes/weir-process';
import { startGateway, warmUp, type Gateway } from './chain/gateway';
import { otherKey, tokenOf, unsignedToken } from './chain/tokens';

const EXAMPLE = resolve(__dirname, '..', '..', 'deploy', 'example', 'payments.yaml');

/** Of deploy/example/payments.yaml. */
const PAYMENTS_AT_ONCE = 3;
const NO_PLAN_A_MINUTE = 20;
const FREE_A_MINUTE = 100;
const MINUTE_MS = 60_000;

let weir: WeirProcess;
let gateway: Gateway;

beforeAll(async () => {
  weir = await startWeir({ config: EXAMPLE, env: { BACKEND_TYPE: 'memory' } });
  gateway = await startGateway({ weirGrpcPort: weir.grpcPort });
  await warmUp(gateway);
});

afterAll(async () => {
  await gateway.stop();
  await weir.stop();
});

/** Sends a number of requests, each as `requestOf` says, all from this address, and returns how many reached the backend. */
async function passed(
  count: number,
  from: string,
  requestOf: (n: number) => Pick<HttpRequest, 'headers'> & { readonly path: string },
): Promise<number> {
  const before = gateway.backendRequests();
  for (let n = 0; n < count; n += 1) {
    const { path, headers = {} } = requestOf(n);
    await gateway.send(path, { from, headers });
  }
  return gateway.backendRequests() - before;
}

/** Runs it, and adds what the time that it took has brought of a limit. */
async function withRefill(perMinute: number, count: () => Promise<number>): Promise<{ readonly count: number; readonly refilled: number }> {
  const startMs = performance.now();
  const counted = await count();
  return { count: counted, refilled: Math.ceil((perMinute * (performance.now() - startMs)) / MINUTE_MS) };
}

describe('a caller stays one client with random forged headers', () => {
  const headersOf: Readonly<Record<string, (n: number) => Readonly<Record<string, string>>>> = {
    'none at all': () => ({}),
    'x-client': (n) => ({ 'x-client': `c-${n}` }),
    'x-client in other letters, and twice': (n) => ({ 'X-CLIENT': `c-${n}, c-${n + 1}` }),
    'x-merchant and x-plan': (n) => ({ 'x-merchant': `m-${n}`, 'x-plan': `plan-${n}` }),
    'a plan that is there': (n) => ({ 'x-merchant': `m-${n}`, 'x-plan': 'enterprise' }),
    'addresses of proxies': (n) => ({
      'x-forwarded-for': `10.9.8.${n}`,
      'x-real-ip': `10.9.8.${n}`,
      forwarded: `for=10.9.8.${n}`,
      'x-envoy-external-address': `10.9.8.${n}`,
    }),
    'ids of requests': (n) => ({ 'x-request-id': `r-${n}`, 'x-envoy-retry-on': '5xx', 'x-envoy-original-path': '/search' }),
    'empty ones': () => ({ 'x-client': '', 'x-merchant': '', 'x-plan': '' }),
  };

  test.each(Object.keys(headersOf).map((name, index) => [name, `127.0.1.${index + 1}`]))(
    'a caller stays one client: %s',
    async (name, from) => {
      const of = headersOf[name]!;
      const { count, refilled } = await withRefill(1, () => passed(20, from, (n) => ({ path: '/payment', headers: of(n) })));
      expect(count).toBeGreaterThanOrEqual(PAYMENTS_AT_ONCE);
      expect(count).toBeLessThanOrEqual(PAYMENTS_AT_ONCE + refilled);
    },
  );
});

test('other spellings of a path count on the same route', async () => {
  const spellings = [
    '/payment',
    '//payment',
    '/payment/',
    '/./payment',
    '/search/../payment',
    '/%70ayment',
    '/payment?x=1',
    '/payment/%2e%2e/payment',
  ];
  const { count, refilled } = await withRefill(1, () =>
    passed(3 * spellings.length, '127.0.2.1', (n) => ({ path: spellings[n % spellings.length]! })),
  );
  expect(count).toBeLessThanOrEqual(PAYMENTS_AT_ONCE + refilled);
});

test('forged plans and merchants share the bucket of anonymous callers, one for each address', async () => {
  const requestOf = (n: number) => ({ path: '/search', headers: { 'x-plan': `plan-${n}`, 'x-merchant': `m-${n}` } });
  const { count, refilled } = await withRefill(NO_PLAN_A_MINUTE, () => passed(60, '127.0.3.1', requestOf));
  expect(count).toBeGreaterThanOrEqual(NO_PLAN_A_MINUTE);
  expect(count).toBeLessThanOrEqual(NO_PLAN_A_MINUTE + refilled);
  expect(await passed(1, '127.0.3.2', requestOf)).toBe(1);
});

describe('tokens', () => {
  const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

  test('tokens that are unsigned, foreign, for another audience, or expired do not reach the backend', async () => {
    const forged = [
      'not-a-token',
      unsignedToken({ plan: 'enterprise', merchant: 'forged' }),
      tokenOf({ plan: 'enterprise', merchant: 'forged' }, otherKey()),
      tokenOf({ plan: 'enterprise', merchant: 'forged', aud: 'another-service' }),
      tokenOf({ plan: 'enterprise', merchant: 'forged', iss: 'https://elsewhere.example.com' }),
      tokenOf({ plan: 'enterprise', merchant: 'forged', exp: Math.floor(Date.now() / 1000) - 3600 }),
    ];
    const before = gateway.backendRequests();
    const statuses: number[] = [];
    for (const token of forged) statuses.push((await gateway.send('/search', { from: '127.0.4.1', headers: bearer(token) })).status);
    // 403: for another audience.
    expect(statuses).toEqual([401, 401, 401, 403, 401, 401]);
    expect(gateway.backendRequests()).toBe(before);
  });

  test("the token's claims set plan and merchant, whatever forged headers say", async () => {
    const token = tokenOf({ plan: 'free', merchant: 'shop' });
    const requestOf = (n: number) => ({ path: '/search', headers: { ...bearer(token), 'x-plan': 'enterprise', 'x-merchant': `m-${n}` } });
    // From two addresses, or the limit of a client might bind.
    const { count, refilled } = await withRefill(
      FREE_A_MINUTE,
      async () => (await passed(70, '127.0.5.1', requestOf)) + (await passed(70, '127.0.5.2', requestOf)),
    );
    expect(count).toBeGreaterThanOrEqual(FREE_A_MINUTE);
    expect(count).toBeLessThanOrEqual(FREE_A_MINUTE + refilled);
  });

  test.each([
    ['a tab before the token', (token: string) => `Bearer\t${token}`],
    ['the scheme in small letters', (token: string) => `bearer ${token}`],
    ['another scheme', (token: string) => `Token ${token}`],
  ])('a backend never reads a token that was counted as anonymous: %s', async (_, authorization) => {
    const token = tokenOf({ plan: 'free', merchant: 'other-form' });
    const before = gateway.backendRequests();
    await gateway.send('/search', { from: '127.0.7.1', headers: { authorization: authorization(token) } });
    expect(gateway.backendHeaders().authorization).toBeUndefined();
    expect(gateway.backendRequests() - before).toBe(1);
  });

  test('a plan without a rule has the smallest limit, and a new plan name opens no new bucket', async () => {
    const requestOf = (n: number) => ({ path: '/search', headers: bearer(tokenOf({ plan: `new-plan-${n}`, merchant: 'new-shop' })) });
    const { count, refilled } = await withRefill(NO_PLAN_A_MINUTE, () => passed(40, '127.0.6.1', requestOf));
    expect(count).toBeGreaterThanOrEqual(NO_PLAN_A_MINUTE);
    expect(count).toBeLessThanOrEqual(NO_PLAN_A_MINUTE + refilled);
  });
});

test('all addresses of an IPv6 network are one client behind a proxy of your own', async () => {
  const replacements = { 'use_remote_address: true': 'use_remote_address: true\n          xff_num_trusted_hops: 1' };
  const behind = await startGateway({ weirGrpcPort: weir.grpcPort, replacements });
  try {
    await warmUp(behind);
    const statuses = [];
    for (let n = 0; n < 8; n += 1)
      statuses.push((await behind.send('/payment', { headers: { 'x-forwarded-for': `2001:db8:1:2::${n + 1}` } })).status);
    expect(statuses.filter((status) => status === 200).length).toBeLessThanOrEqual(PAYMENTS_AT_ONCE + 1);
    expect((await behind.send('/payment', { headers: { 'x-forwarded-for': '2001:db8:1:3::1' } })).status).toBe(200);
  } finally {
    await behind.stop();
  }
});
