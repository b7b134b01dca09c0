/** Middleware for Express, Fastify, Hono and Koa runs handlers exactly as often as the limit allows, and denies with 429. */

import { createClient } from '../../../src/program/library/client/create-client';
import { createLimiter } from '../../../src/program/library/in-process/create-limiter';
import type { Limiter, LimitResult } from '../../../src/program/library/limiter/limiter';
import { until } from '../../support/clock/until';
import { httpRequest, type HttpResponse } from '../../support/clients/http-client';
import { writeConfig } from '../../support/config/temp-config';
import { FRAMEWORKS, PARTS, startFramework, type FrameworkServer, type ServerOptions } from '../../support/library/framework-servers';
import { startWeir, type WeirProcess } from '../../support/processes/weir-process';
import { startRedis, type RedisServer } from '../../support/redis/redis-server';

const LIMIT = 3;
const LOAD_LIMIT = 20;
const LOAD = 80;

const CONFIG = `domain: shop
response_headers: ietf
descriptors:
  - key: caller
    rate_limit: { unit: hour, requests_per_unit: ${LIMIT} }
  - key: caller
    value: "text*"
    rate_limit: { unit: hour, requests_per_unit: 0, response_body: { text: "kein <Zutritt> für {entry.caller}" } }
  - key: caller
    value: "many*"
    rate_limit: { unit: hour, requests_per_unit: ${LOAD_LIMIT} }
`;

/** A short time between two requests of a caller, hours for some, and never for others. */
const WAITING = `domain: shop
descriptors:
  - key: caller
    rate_limit: { unit: second, requests_per_unit: 20, burst: 1, algorithm: token_bucket }
  - key: caller
    value: "long*"
    rate_limit: { unit: hour, requests_per_unit: 1, algorithm: token_bucket }
  - key: caller
    value: "never*"
    rate_limit: { unit: hour, requests_per_unit: 0 }
`;

let redis: RedisServer;
let weir: WeirProcess;
let limiters: Readonly<Record<string, Limiter>>;
let callers = 0;

beforeAll(async () => {
  redis = await startRedis();
  weir = await startWeir({
    config: writeConfig(CONFIG),
    env: { BACKEND_TYPE: 'redis', REDIS_URL: `127.0.0.1:${redis.port}`, REDIS_OP_TIMEOUT: '1s' },
  });
  const client = createClient({ address: `127.0.0.1:${weir.grpcPort}`, timeoutMs: 10_000 });
  await client.ready();
  limiters = {
    'a client of Weir': client,
    'a limiter in the process': await createLimiter({ rules: { text: CONFIG } }),
  };
});

afterAll(async () => {
  await Promise.all(Object.values(limiters).map((limiter) => limiter.close()));
  await weir.stop();
  await redis.stop();
});

const denied: LimitResult = { allowed: false, decidedBy: 'weir', headers: [], statuses: [] };

describe.each(FRAMEWORKS)('%s', (framework) => {
  const open: FrameworkServer[] = [];

  afterEach(async () => {
    await Promise.all(open.splice(0).map((server) => server.close()));
  });

  async function serve(options: ServerOptions): Promise<FrameworkServer> {
    const server = await startFramework(framework, options);
    open.push(server);
    return server;
  }

  function newCaller(prefix = 'caller'): string {
    callers += 1;
    return `${prefix}-${framework}-${callers}`;
  }

  function ask(
    server: FrameworkServer,
    path: string,
    { caller, method, body }: { caller: string; method?: string; body?: string },
  ): Promise<HttpResponse> {
    return httpRequest(`${server.url}${path}`, {
      headers: { 'x-caller': caller, ...(body !== undefined && { 'content-type': 'text/x-test' }) },
      ...(method !== undefined && { method }),
      ...(body !== undefined && { body }),
    });
  }

  describe.each(['a client of Weir', 'a limiter in the process'])('with %s', (kind) => {
    test('requests pass with the headers of Weir until the limit, and then get 429 with headers and a problem in JSON', async () => {
      const server = await serve({ limiter: limiters[kind]! });
      const caller = newCaller();
      for (let left = LIMIT - 1; left >= 0; left -= 1) {
        const { status, headers, body } = await ask(server, '/ok', { caller });
        expect({ status, body, policy: headers['ratelimit-policy'] }).toEqual({ status: 200, body: 'ok', policy: '"caller";q=3;w=3600' });
        expect(headers.ratelimit).toMatch(new RegExp(`^"caller";r=${left};t=\\d+$`));
      }
      const over = await ask(server, '/ok', { caller });
      expect(over.status).toBe(429);
      expect(over.headers['ratelimit-policy']).toBe('"caller";q=3;w=3600');
      expect(over.headers['content-type']).toMatch(/^application\/problem\+json/);
      expect(Number(over.headers['retry-after'])).toBeGreaterThan(0);
      expect(JSON.parse(over.body)).toEqual({
        type: 'about:blank',
        title: 'Too Many Requests',
        status: 429,
        'retry-after': Number(over.headers['retry-after']),
      });
      expect(server.handled()).toBe(LIMIT);
      const head = await ask(server, '/ok', { caller, method: 'HEAD' });
      expect({ status: head.status, body: head.body }).toEqual({ status: 429, body: '' });
      expect(head.headers.ratelimit).toMatch(/^"caller";r=0;t=1[12]\d\d$/);
    });

    test('the response_body of the rule reaches the client, and a limit of 0 promises no retry', async () => {
      const server = await serve({ limiter: limiters[kind]! });
      const caller = newCaller('text');
      const { status, headers, body } = await ask(server, '/ok', { caller });
      expect({ status, body }).toEqual({ status: 429, body: `kein <Zutritt> für ${caller}` });
      expect(headers).toMatchObject({ 'content-type': 'text/plain; charset=utf-8', 'x-content-type-options': 'nosniff' });
      expect(headers).not.toHaveProperty('retry-after');
      const request = { domain: 'shop', descriptors: [{ caller }] };
      expect(await limiters[kind]!.check(request)).not.toHaveProperty('retryAfterMs');
    });

    test('requests at once pass exactly as often as the limit says, and each runs its handler once', async () => {
      const server = await serve({ limiter: limiters[kind]! });
      const caller = newCaller('many');
      const answers = await Promise.all(Array.from({ length: LOAD }, () => ask(server, '/ok', { caller })));
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(LOAD_LIMIT);
      expect(answers.filter(({ status }) => status === 429)).toHaveLength(LOAD - LOAD_LIMIT);
      expect(server.handled()).toBe(LOAD_LIMIT);
    });
  });

  test('bodies in both directions stream through', async () => {
    const server = await serve({ limiter: limiters['a client of Weir']! });
    const caller = newCaller();
    const streamed = await ask(server, '/stream', { caller });
    expect(streamed.body).toBe(PARTS.join(''));
    expect(streamed.headers.ratelimit).toContain('r=2');
    const large = 'x'.repeat(1_000_000);
    const echoed = await ask(server, '/echo', { caller, method: 'POST', body: large });
    expect(echoed.status).toBe(200);
    expect(echoed.body === large).toBe(true);
    expect(echoed.headers.ratelimit).toContain('r=1');
  });

  test.each([
    ['an error', new Error('no caller')],
    ['a text that Express takes for a route', 'route'],
    ['nothing', undefined],
  ])('a request whose descriptors throw %s does not pass', async (_, thrown) => {
    const server = await serve({
      limiter: limiters['a limiter in the process']!,
      descriptors: () => {
        // oxlint-disable-next-line typescript/only-throw-error -- any program may
        throw thrown;
      },
    });
    expect((await ask(server, '/ok', { caller: newCaller() })).status).toBe(500);
    expect(server.handled()).toBe(0);
  });

  test('an invalid request does not pass, although the failure mode is open', async () => {
    const server = await serve({ limiter: limiters['a client of Weir']!, descriptors: () => [{ caller: 'x'.repeat(70_000) }] });
    expect((await ask(server, '/ok', { caller: newCaller() })).status).toBe(500);
    expect(server.handled()).toBe(0);
  });

  test('a request without descriptors is not limited', async () => {
    const server = await serve({ limiter: { check: () => Promise.reject(new Error('asked')) }, descriptors: () => undefined });
    expect((await ask(server, '/ok', { caller: newCaller() })).body).toBe('ok');
  });

  test('a client that leaves while the limiter decides gets no handler', async () => {
    const waiting: (() => void)[] = [];
    const slow: Pick<Limiter, 'check'> = {
      check: () =>
        new Promise((resolve) => {
          waiting.push(() => {
            resolve({ ...denied, allowed: true });
          });
        }),
    };
    const server = await serve({ limiter: slow });
    const abort = new AbortController();
    const left = httpRequest(`${server.url}/ok`, { headers: { 'x-caller': newCaller() }, signal: abort.signal });
    await until(() => waiting.length === 1);
    abort.abort();
    await expect(left).rejects.toThrow();
    // The server sees the end of the connection before that of a later one.
    const stays = httpRequest(`${server.url}/ok`, { headers: { 'x-caller': newCaller() } });
    await until(() => waiting.length === 2);
    for (const answer of waiting) answer();
    expect((await stays).body).toBe('ok');
    expect(server.handled()).toBe(1);
  });

  test('the body and the content type that Weir gives reach the client', async () => {
    const headers = [
      { name: 'content-type', value: 'text/html; charset=utf-8' },
      { name: 'Retry-After', value: '7' },
    ];
    const server = await serve({ limiter: { check: () => Promise.resolve({ ...denied, headers, body: '<p>später</p>' }) } });
    const answer = await ask(server, '/ok', { caller: newCaller() });
    expect(answer).toMatchObject({ status: 429, body: '<p>später</p>' });
    expect(answer.headers).toMatchObject({ 'content-type': 'text/html; charset=utf-8', 'retry-after': '7' });
  });

  test('a program may answer denials itself, with the headers of Weir', async () => {
    const headers = [{ name: 'Retry-After', value: '7' }];
    const server = await serve({ limiter: { check: () => Promise.resolve({ ...denied, headers }) }, deniedText: 'short and stout' });
    const answer = await ask(server, '/ok', { caller: newCaller() });
    expect(answer).toMatchObject({ status: 418, body: 'short and stout' });
    expect(answer.headers['retry-after']).toBe('7');
    expect(server.handled()).toBe(0);
  });

  test('without Weir the failure mode decides: open passes, closed answers 503, and both are reported', async () => {
    for (const [failureMode, status] of [
      ['open', 200],
      ['closed', 503],
    ] as const) {
      const [errors, seen]: [Error[], Error[]] = [[], []];
      const client = createClient({ address: '127.0.0.1:1', failureMode, onFailure: (error) => seen.push(error) });
      const server = await serve({
        limiter: client,
        onFailure: (error) => errors.push(error),
      });
      const answer = await ask(server, '/ok', { caller: newCaller() });
      expect(answer.status).toBe(status);
      expect({ failures: client.failures, seen }).toEqual({ failures: 1, seen: errors });
      await client.close();
    }
  });

  test('with waitMs a request waits until it fits, and one that cannot gets 429', async () => {
    const limiter = await createLimiter({ rules: { text: WAITING } });
    const server = await serve({ limiter, waitMs: 60_000 });
    const caller = newCaller();
    // One fits at once, each of the others a little later.
    const answers = await Promise.all(Array.from({ length: 3 }, () => ask(server, '/ok', { caller })));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(await ask(server, '/ok', { caller: newCaller('never') })).toMatchObject({ status: 429 });
    expect(server.handled()).toBe(3);
    await limiter.close();
  });

  test('a client that leaves while it waits takes nothing and reaches no handler, and without room to wait there is 503', async () => {
    const limiter = await createLimiter({ rules: { text: WAITING }, waitersMax: 1 });
    const server = await serve({ limiter, waitMs: 60_000_000 });
    const caller = newCaller('long');
    expect((await ask(server, '/ok', { caller })).status).toBe(200);
    const abort = new AbortController();
    const left = httpRequest(`${server.url}/ok`, { headers: { 'x-caller': caller }, signal: abort.signal });
    await until(() => limiter.waiting === 1);
    expect((await ask(server, '/ok', { caller: newCaller('long') })).status).toBe(503);
    abort.abort();
    await expect(left).rejects.toThrow();
    await until(() => limiter.waiting === 0);
    expect(server.handled()).toBe(1);
    await limiter.close();
  });
});
