/** Behind a real Envoy requests pass, get 429 with headers, and pass after the refill, on both stores and transports. */
import { join } from 'node:path';
import { httpRequest } from '../support/clients/http-client';
import { startRedis, type RedisServer } from '../support/redis/redis-server';
import { until } from '../support/clock/until';
import { startWeir, type WeirProcess } from '../support/processes/weir-process';
import { startGateway, warmUp, type Gateway } from './chain/gateway';

const LIMITS = join(__dirname, 'chain', 'limits.yaml');
const SECONDS_PER_TOKEN = 3600 / 3;

const WAYS = ['memory', 'redis'].flatMap((store) => ['grpc-js', 'lean'].map((transport) => [store, transport] as const));

describe.each(WAYS)('Envoy in front of Weir on the %s store (%s)', (store, transport) => {
  let redis: RedisServer | undefined;
  let weir: WeirProcess;
  let gateway: Gateway;

  beforeAll(async () => {
    redis = store === 'redis' ? await startRedis() : undefined;
    const env: Record<string, string> =
      redis === undefined ? {} : { REDIS_SOCKET_TYPE: 'tcp', REDIS_URL: `127.0.0.1:${redis.port}`, REDIS_OP_TIMEOUT: '1s' };
    weir = await startWeir({ config: LIMITS, env: { TRANSPORT: transport, ...env } });
    gateway = await startGateway({ weirGrpcPort: weir.grpcPort });
    await warmUp(gateway);
  });

  afterAll(async () => {
    await gateway.stop();
    await weir.stop();
    await redis?.stop();
  });

  test('the first three logins of a client reach the backend, the fourth gets 429', async () => {
    const caller = { merchant: 'm-count', client: 'c-count' };
    const before = gateway.backendRequests();
    for (let n = 1; n <= 3; n++) {
      const allowed = await gateway.get('/login', caller);
      expect({ n, status: allowed.status, body: allowed.body }).toEqual({ n, status: 200, body: 'from the backend' });
      expect(allowed.headers['x-envoy-ratelimited']).toBeUndefined();
    }
    const denied = await gateway.get('/login', caller);
    expect(denied.status).toBe(429);
    expect(denied.headers['x-envoy-ratelimited']).toBe('true');
    expect(gateway.backendRequests() - before).toBe(3);
  });

  test('a query string and a longer path count on the same limit', async () => {
    const caller = { merchant: 'm-path', client: 'c-path' };
    for (const path of ['/login', '/login?next=1', '/login/again']) expect((await gateway.get(path, caller)).status).toBe(200);
    expect((await gateway.get('//login?next=2', caller)).status).toBe(429);
  });

  test('x-ratelimit headers carry the statuses, on 200 and on 429', async () => {
    const caller = { merchant: 'm-headers', client: 'c-headers' };
    const policies = '3, 1000;w=1, 20;w=3600, 3;w=3600;name="logins"';
    for (const left of [2, 1, 0]) {
      const { status, headers } = await gateway.get('/login', caller);
      expect({ status, limit: headers['x-ratelimit-limit'], remaining: headers['x-ratelimit-remaining'] }).toEqual({
        status: 200,
        limit: policies,
        remaining: String(left),
      });
      // Allowed: the reset is when the bucket is full again.
      expectSecondsUpTo(headers['x-ratelimit-reset'], (3 - left) * SECONDS_PER_TOKEN);
      expect(headers['retry-after']).toBeUndefined();
    }
    const { status, headers } = await gateway.get('/login', caller);
    expect({ status, limit: headers['x-ratelimit-limit'], remaining: headers['x-ratelimit-remaining'] }).toEqual({
      status: 429,
      limit: policies,
      remaining: '0',
    });
    // Denied: it is when this request would fit, which is what retry-after says too.
    expectSecondsUpTo(headers['x-ratelimit-reset'], SECONDS_PER_TOKEN);
    expectSecondsUpTo(headers['retry-after'], SECONDS_PER_TOKEN);
  });

  test('requests pass again after the time in retry-after', async () => {
    const caller = { merchant: 'm-refill', client: 'c-refill' };
    const begin = performance.now();
    const responses = await Promise.all(Array.from({ length: 6 }, () => gateway.get('/search', caller)));
    const elapsedS = (performance.now() - begin) / 1000;
    const allowed = responses.filter(({ status }) => status === 200).length;
    expect(allowed).toBeGreaterThanOrEqual(2);
    expect(allowed).toBeLessThanOrEqual(2 + Math.floor(2 * elapsedS));

    let denied = responses.find(({ status }) => status === 429);
    // On a host so busy that six requests take two seconds each has its token.
    await until(async () => {
      if (denied !== undefined) return true;
      const response = await gateway.get('/search', caller);
      if (response.status === 429) denied = response;
      return denied !== undefined;
    });
    const retryAfterS = Number(denied?.headers['retry-after']);
    expect(retryAfterS).toBe(1);
    await new Promise((resolve) => setTimeout(resolve, retryAfterS * 1000));
    expect((await gateway.get('/search', caller)).status).toBe(200);
  });

  test('a request that one descriptor denies takes nothing from the others', async () => {
    const merchant = 'm-atomic';
    for (let n = 0; n < 3; n++) await gateway.get('/login', { merchant, client: 'c-atomic' });
    expect(await merchantRemaining(merchant)).toBe(17);
    for (let n = 0; n < 5; n++) expect((await gateway.get('/login', { merchant, client: 'c-atomic' })).status).toBe(429);
    expect(await merchantRemaining(merchant)).toBe(17);
    // And what another client takes is taken from exactly there.
    await gateway.get('/login', { merchant, client: 'c-other' });
    expect(await merchantRemaining(merchant)).toBe(16);
  });

  test("the merchant's limit binds when many clients share it", async () => {
    const merchant = 'm-binds';
    for (let n = 0; n < 20; n++) expect((await gateway.get('/login', { merchant, client: `c-binds-${n}` })).status).toBe(200);
    const denied = await gateway.get('/login', { merchant, client: 'c-binds-20' });
    expect(denied.status).toBe(429);
    expect(denied.headers['x-ratelimit-limit']).toMatch(/^20, /);
    expectSecondsUpTo(denied.headers['retry-after'], 3600 / 20);
  });

  /** A peek over /json: what the merchant's bucket holds, without taking from it. */
  async function merchantRemaining(merchant: string): Promise<number> {
    const entries = [
      { key: 'plan', value: 'free' },
      { key: 'merchant', value: merchant },
    ];
    const { status, body } = await httpRequest(`http://127.0.0.1:${weir.httpPort}/json`, {
      headers: { 'content-type': 'application/json' },
      body: { domain: 'payments', descriptors: [{ entries, hitsAddend: '0' }] },
    });
    expect(status).toBe(200);
    const answer = JSON.parse(body) as { statuses: { limitRemaining?: number }[] };
    return answer.statuses[0]!.limitRemaining ?? 0;
  }
});

/** A wait that began a moment ago: the whole seconds of it, less what a slow machine has spent since. */
function expectSecondsUpTo(header: string | string[] | undefined, seconds: number): void {
  const SLACK_S = 20;
  expect(Number(header)).toBeLessThanOrEqual(seconds);
  expect(Number(header)).toBeGreaterThan(seconds - SLACK_S);
}
