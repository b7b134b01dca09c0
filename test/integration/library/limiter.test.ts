/** A limiter in the process answers random requests as the service does, and shares buckets in one Redis with it. */

import { createClient, type Client } from '../../../src/program/library/client/create-client';
import {
  createLimiter,
  InvalidRequestError,
  type InProcessLimiter,
  type LimiterOptions,
} from '../../../src/program/library/in-process/create-limiter';
import type { Descriptor, LimitRequest, LimitResult } from '../../../src/program/library/limiter/limiter';
import { writeConfig } from '../../support/config/temp-config';
import { startWeir, type WeirProcess } from '../../support/processes/weir-process';
import { randomFrom, seededInFull, type Random } from '../../support/random/random';
import { startRedis, type RedisServer } from '../../support/redis/redis-server';

/** Requests of a random sequence. */
const STEPS = 250;

/** Windows of days and years: nothing refills while a test runs. */
const CONFIG = `domain: shop
response_headers: ietf
descriptors:
  - key: user
    rate_limit: { unit: day, requests_per_unit: 40, algorithm: fixed_window, name: users }
    descriptors:
      - key: path
        value: /login
        rate_limit: { unit: year, requests_per_unit: 5, algorithm: sliding_window_log }
      - key: path
        rate_limit: { unit: year, requests_per_unit: 20, algorithm: token_bucket }
  - key: shadow
    shadow_mode: true
    rate_limit: { unit: day, requests_per_unit: 3, algorithm: fixed_window }
  - key: free
    rate_limit: { unlimited: true }
  - key: closed
    rate_limit: { unit: day, requests_per_unit: 0 }
`;

const REQUEST = { domain: 'shop', descriptors: [{ user: 'zoe', path: '/login' }] };

/** Unknown domains are logged. */
const QUIET = { log: { write: () => undefined } };

const open: InProcessLimiter[] = [];

afterEach(async () => {
  await Promise.all(open.splice(0).map((limiter) => limiter.close()));
});

async function limiterOf(options: Partial<LimiterOptions> = {}): Promise<InProcessLimiter> {
  const limiter = await createLimiter({ rules: { text: CONFIG }, ...options });
  open.push(limiter);
  return limiter;
}

function randomRequest(random: Random): LimitRequest {
  const pick = <T>(items: readonly T[]): T => items[random(items.length)]!;
  const user = (): string => `user${random(3)}`;
  const descriptor = (): Descriptor =>
    pick<() => Descriptor>([
      () => ({ user: user() }),
      () => ({ user: user(), path: '/login' }),
      () => ({ user: user(), path: '/söarch' }),
      () => ({ entries: [['shadow', user()]], hitsAddend: random(3) }),
      () => ({ entries: { user: user(), path: '/pay' }, hitsAddend: -random(2) }),
      () => ({ free: 'x' }),
      () => ({ closed: 'x' }),
      () => ({ nobody: 'x' }),
      () => ({ entries: { user: user() }, limit: { requestsPerUnit: random(4), unit: 'day', unitMultiplier: 1 + random(2) } }),
    ])();
  return {
    domain: random(20) === 0 ? 'unknown' : 'shop',
    descriptors: Array.from({ length: 1 + random(3) }, descriptor),
    ...(random(2) === 0 && { hitsAddend: 1 + random(3) }),
  };
}

/** A window may end a second later for the one that is asked later. */
function withoutClock(result: LimitResult): unknown {
  const { retryAfterMs, ...rest } = result;
  const text = (value: string): string => value.replaceAll(/\bt=\d+/g, 't=…');
  return {
    ...rest,
    hasRetry: retryAfterMs !== undefined,
    headers: rest.headers.map(({ name, value }) => ({ name, value: name === 'Retry-After' ? '…' : text(value) })),
    statuses: rest.statuses.map(({ resetAfterMs, ...status }) => ({ ...status, hasReset: resetAfterMs !== undefined })),
  };
}

describe('beside a service', () => {
  let redis: RedisServer;
  let weir: WeirProcess | undefined;
  let client: Client | undefined;

  beforeAll(async () => {
    redis = await startRedis();
  });

  afterEach(async () => {
    await client?.close();
    await weir?.stop();
  });

  afterAll(() => redis.stop());

  async function serve(env: Readonly<Record<string, string>>): Promise<Client> {
    weir = await startWeir({ config: writeConfig(CONFIG), env });
    client = createClient({ address: `127.0.0.1:${weir.grpcPort}`, timeoutMs: 20_000 });
    expect(await client.ready({ timeoutMs: 20_000 })).toBe(true);
    return client;
  }

  test('a random sequence of requests gets the same answers from a limiter on the embedded store and over gRPC', async () => {
    const service = await serve({ BACKEND_TYPE: 'memory' });
    const limiter = await limiterOf(QUIET);
    const random = randomFrom(seededInFull(STEPS));
    const denied = { count: 0 };
    for (let step = 0; step < STEPS; step += 1) {
      const request = randomRequest(random);
      const [here, there] = [await limiter.check(request), await service.check(request)];
      expect({ request, answer: withoutClock(here) }).toEqual({ request, answer: withoutClock(there) });
      if (!here.allowed) denied.count += 1;
    }
    expect(denied.count).toBeGreaterThan(STEPS / 10);
    expect(denied.count).toBeLessThan(STEPS);
  });

  test('a random sequence gets the same answers on one Redis from either of the two', async () => {
    const env = { BACKEND_TYPE: 'redis', REDIS_URL: `127.0.0.1:${redis.port}`, DENY_CACHE_MAX: '0', REDIS_OP_TIMEOUT: '1s' };
    const service = await serve(env);
    const shared = await limiterOf({
      store: { redis: `127.0.0.1:${redis.port}` },
      ...QUIET,
      settings: { DENY_CACHE_MAX: '0', FAILURE_MODE: 'unavailable', REDIS_OP_TIMEOUT: '1s' },
    });
    const alone = await limiterOf(QUIET);
    const random = randomFrom(seededInFull(STEPS));
    for (let step = 0; step < STEPS; step += 1) {
      const request = randomRequest(random);
      const asked = random(2) === 0 ? shared : service;
      expect({ request, answer: withoutClock(await asked.check(request)) }).toEqual({
        request,
        answer: withoutClock(await alone.check(request)),
      });
    }
  });
});

test('two limiters of one process share neither buckets nor metrics', async () => {
  const [one, other] = [await limiterOf(), await limiterOf()];
  for (let i = 0; i < 5; i += 1) expect((await one.check(REQUEST)).allowed).toBe(true);
  expect((await one.check(REQUEST)).allowed).toBe(false);
  expect((await other.check(REQUEST)).statuses[0]?.remaining).toBe(4);
  const hits = 'ratelimit_service_rate_limit_total_hits{domain="shop",key1="user",key2="path_/login"}';
  expect(await one.metrics()).toContain(`${hits} 6\n`);
  expect(await other.metrics()).toContain(`${hits} 1\n`);
  await one.close();
  expect((await other.check(REQUEST)).decidedBy).toBe('weir');
});

test('rules may be objects, and explain shows which of them match', async () => {
  const limiter = await limiterOf({
    rules: { documents: [{ domain: 'shop', descriptors: [{ key: 'user', rate_limit: { unit: 'hour', requests_per_unit: 7 } }] }] },
  });
  expect((await limiter.check({ domain: 'shop', descriptors: [{ user: 'zoe' }] })).statuses[0]?.limit?.requestsPerUnit).toBe(7);
  expect(limiter.explain({ domain: 'shop', descriptors: [{ user: 'zoe' }] })).toContain('limit: 7 per hour');
});

test('without Redis the failure mode of a limit decides, and where that is unavailable the one of the limiter', async () => {
  const nowhere = {
    store: { redis: '127.0.0.1:1' },
    settings: { REDIS_CONNECT_TIMEOUT: '100ms' },
    log: { write: () => undefined },
  } as const;
  const local = await limiterOf(nowhere);
  expect(await local.check(REQUEST)).toMatchObject({ allowed: true, decidedBy: 'weir', statuses: [{ code: 'OK' }] });
  const closed = await limiterOf({ ...nowhere, settings: { ...nowhere.settings, FAILURE_MODE: 'unavailable' }, failureMode: 'closed' });
  expect(await closed.check(REQUEST)).toMatchObject({ allowed: false, decidedBy: 'failure-mode' });
});

test('a closed limiter decides by its failure mode, and a signal ends a wait', async () => {
  const limiter = await limiterOf({ failureMode: 'closed' });
  await expect(limiter.check(REQUEST, { signal: AbortSignal.abort() })).rejects.toThrow('aborted');
  expect((await limiter.check(REQUEST, { signal: new AbortController().signal })).allowed).toBe(true);
  await limiter.close();
  expect(await limiter.check(REQUEST)).toMatchObject({ allowed: false, error: { message: 'the limiter is closed' } });
});

test('an invalid request is an error that names the field', async () => {
  const limiter = await limiterOf();
  await expect(limiter.check({ domain: 'shop', descriptors: [] })).rejects.toThrow(InvalidRequestError);
  await expect(limiter.check({ domain: 'shop', descriptors: [{ b: 'x', 1: 'y' }] })).rejects.toThrow('has a number as a key');
  await expect(limiter.check({ ...REQUEST, hitsAddend: 1.5 })).rejects.toThrow('hitsAddend is 1.5; set a whole number');
});

test.each<[string, Partial<Record<keyof LimiterOptions, unknown>>, string]>([
  [
    'invalid rules',
    { rules: { text: 'domain: shop\ndescriptors:\n  - key: user\n    rate_limit: { unit: secnod, requests_per_unit: 1 }\n' } },
    'rules:4:',
  ],
  ['a missing file', { rules: '/no/such/file.yaml' }, '/no/such/file.yaml'],
  ['a setting of the server', { settings: { GRPC_PORT: '1' } }, 'settings.GRPC_PORT is not a setting that a limiter heeds'],
  ['the setting of an option', { settings: { REDIS_URL: 'x:1' } }, 'settings.REDIS_URL is set; use the option store instead'],
  ['an invalid value', { settings: { FAILURE_MODE: 'ajar' } }, 'FAILURE_MODE'],
  ['an invalid store', { store: { redis: '' } }, 'store is invalid'],
  ['an invalid failure mode', { failureMode: 'ajar' }, 'failureMode is "ajar"; write open or closed'],
  ['a watch without a path', { watch: true }, 'watch is true, but rules is not a path'],
])('%s is refused with its name', async (_, options, message) => {
  await expect(createLimiter({ rules: { text: CONFIG }, ...options } as LimiterOptions)).rejects.toThrow(message);
});
