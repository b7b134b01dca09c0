/** An engine that differs from Redis is adapted to or refused by name, and no limit is exceeded on it. */

import { status } from '@grpc/grpc-js';
import { OK, OVER_LIMIT, RlsClient } from '../../support/clients/rls-client';
import { httpRequest } from '../../support/clients/http-client';
import { until } from '../../support/clock/until';
import { writeConfig } from '../../support/config/temp-config';
import { runWeir } from '../../support/processes/command';
import { startWeir, type WeirProcess } from '../../support/processes/weir-process';
import { startFakeEngine, type EngineBehaviour, type FakeEngine } from '../../support/redis/fake-engine';
import { startRedis, type RedisServer } from '../../support/redis/redis-server';
import { storeOptions } from '../../support/redis/redis-store';
import { groupOf, take } from '../../support/decisions/groups';
import type { ConnectionState } from '../../../src/state/store/redis/client/redis-connection';
import { RedisStore } from '../../../src/state/store/redis/redis-store';

const LIMIT = 5;
const TENANTS = 12;
const CONFIG = writeConfig(
  `{ domain: d, hash_tag: tenant, descriptors: [{ key: tenant, rate_limit: { unit: year, requests_per_unit: ${LIMIT} } }] }`,
);
const CROSS_SLOT = "CROSSSLOT Keys in request don't hash to the same slot";
const GARNET: EngineBehaviour = {
  replies: { 'INFO server': 'garnet_version:1.0.84\r\nredis_version:7.4.3\r\n' },
  lists: { 'CONFIG GET lua-transaction-mode': ['lua-transaction-mode', 'yes'] },
};
const TIMEOUT_MS = 60_000;

let redis: RedisServer;
let engine: FakeEngine;
let weir: WeirProcess;
let client: RlsClient;

beforeAll(async () => {
  redis = await startRedis();
  engine = await startFakeEngine(redis.port, {});
  const env = {
    REDIS_URL: `127.0.0.1:${engine.port}`,
    REDIS_OP_TIMEOUT: '1s',
    FAILURE_MODE: 'unavailable',
    DENY_CACHE_MAX: '0',
    LEASES: 'off',
    LOG_FORMAT: 'json',
  };
  weir = await startWeir({ config: CONFIG, env });
  client = new RlsClient(weir.grpcPort);
}, TIMEOUT_MS);

afterAll(async () => {
  client.close();
  await weir.stop();
  await engine.stop();
  await redis.stop();
});

async function health(): Promise<string> {
  return (await httpRequest(`http://127.0.0.1:${weir.httpPort}/healthcheck`)).body;
}

async function become(behaviour: EngineBehaviour): Promise<void> {
  engine.become(behaviour);
  const { connections } = engine;
  await until(async () => engine.connections > connections && (await health()) === 'OK');
}

let round = 0;

/** Asks for more than the limit of each tenant, all at once; how many were admitted. */
async function admittedOf(tenants: number): Promise<readonly number[]> {
  round += 1;
  const names = Array.from({ length: tenants }, (_, i) => `${round}-${i}`);
  return Promise.all(
    names.map(async (tenant) => {
      const asked = Array.from({ length: LIMIT + 3 }, () => client.ask('d', [{ entries: { tenant } }]));
      return (await Promise.all(asked)).filter(({ overall_code }) => overall_code === OK).length;
    }),
  );
}

test.each<[string, EngineBehaviour, RegExp]>([
  ['a clock of 0', { time: "{ '0', '0' }" }, /TIME in its scripts is 0 s since 1970; limits need a real clock there/],
  ['a clock that stands', { time: "{ '1790000000', '5' }" }, /TIME in its scripts does not advance \(1790000000000005 us since 1970\)/],
  [
    'a Dragonfly without atomic scripts',
    {
      replies: { 'INFO server': 'redis_version:7.4.0\r\ndragonfly_version:df-v1.40.0\r\n' },
      lists: { 'CONFIG GET default_lua_flags': ['default_lua_flags', 'allow-undeclared-keys disable-atomicity'] },
    },
    /default_lua_flags has disable-atomicity, and without atomic scripts limits are exceeded; remove it/,
  ],
  [
    'a Garnet that does not show transactions of scripts',
    { replies: { 'INFO server': 'garnet_version:1.0.84\r\nredis_version:7.4.3\r\n' }, lists: { 'CONFIG GET lua-transaction-mode': [] } },
    /Garnet does not show lua-transaction-mode, and without it scripts are not atomic/,
  ],
])('%s is refused by name, and decides nothing', async (_what, behaviour, said) => {
  const other = await startFakeEngine(redis.port, behaviour);
  const causes: (string | undefined)[] = [];
  const onConnection = ({ connected, cause }: ConnectionState) => causes.push(connected ? 'connected' : cause);
  const store = new RedisStore({ ...storeOptions(other.port), probe: { keyPrefix: '' }, onConnection });
  void store.connect({ waitMs: 0 });
  // It tries again, and is refused again.
  await until(() => causes.length > 1);
  expect(causes.every((cause) => said.test(cause ?? ''))).toBe(true);
  await expect(store.take([groupOf([take('refused')])])).rejects.toThrow('Redis is not connected');
  await store.close();
  await other.stop();
});

test('Weir names the reason in its log, answers UNAVAILABLE, and decides when the engine is another', async () => {
  engine.become({ time: "{ '0', '0' }" });
  await until(() => weir.output().includes('(TIME in its scripts is 0 s since 1970; limits need a real clock there)'));
  expect(await health()).toBe('OK\ndegraded: redis\n');
  await expect(client.ask('d', [{ entries: { tenant: 'refused' } }])).rejects.toMatchObject({ code: status.UNAVAILABLE });
  await become({});
  expect((await client.ask('d', [{ entries: { tenant: 'refused' } }])).overall_code).toBe(OK);
});

test.each<[string, EngineBehaviour, RegExp | undefined]>([
  ['answers CROSSSLOT', { crossSlot: CROSS_SLOT }, /\((?:redis|valkey) [\d.]+\) refuses scripts with keys of several slots/],
  ['refuses keys of several slots in other words', { crossSlot: 'ERR command keys must be in the same slot' }, undefined],
  ['refuses scripts without keys', { needsKeys: true }, undefined],
  ['knows neither INFO, CONFIG nor MSETEX', { unknown: ['INFO', 'CONFIG', 'MSETEX'] }, undefined],
  ['forgets scripts at once', { forgetsScripts: 'NOSCRIPT No matching script. Please use EVAL.' }, undefined],
  ['forgets scripts at once, and says so in other words', { forgetsScripts: 'NOSCRIPT' }, undefined],
  ['is a Garnet with transactions', GARNET, undefined],
  [
    'has whole milliseconds in its clock',
    { time: "(function() local t = redis.call('TIME') return { t[1], t[2] - t[2] % 1000 } end)()" },
    undefined,
  ],
])('an engine that %s decides all requests, exactly', async (_what, behaviour, said) => {
  await become(behaviour);
  expect(await admittedOf(TENANTS)).toEqual(new Array(TENANTS).fill(LIMIT));
  if (said !== undefined) expect(weir.output()).toMatch(said);
});

test('a request with buckets of several slots takes from all of them or from none, where an engine keeps slots apart', async () => {
  await become({ crossSlot: CROSS_SLOT });
  const ask = (...tenants: readonly string[]) =>
    client.ask(
      'd',
      tenants.map((tenant) => ({ entries: { tenant } })),
    );
  const left = async (tenant: string) => (await ask(tenant)).statuses[0]?.limit_remaining;
  for (let i = 0; i < LIMIT; i += 1) expect((await ask('full')).overall_code).toBe(OK);
  expect((await ask('full', 'fresh')).overall_code).toBe(OVER_LIMIT);
  expect((await ask('fresh', 'other')).overall_code).toBe(OK);
  expect([await left('fresh'), await left('other')]).toEqual([LIMIT - 2, LIMIT - 2]);
});

test('weir settings --probe shows the engine and its findings, or why it cannot be used', async () => {
  const probed = async (behaviour: EngineBehaviour) => {
    const other = await startFakeEngine(redis.port, behaviour);
    const { exitCode, stdout } = await runWeir(['settings', '--changed', '--probe'], { env: { REDIS_URL: `127.0.0.1:${other.port}` } });
    await other.stop();
    return {
      exitCode,
      redis: stdout
        .slice(stdout.indexOf('\nRedis\n'))
        .replace(/:\d{4,5}\//, ':PORT/')
        .replace(/[\d.]+ ms/, 'N ms'),
    };
  };
  const { exitCode, redis: shown } = await probed({ crossSlot: CROSS_SLOT });
  expect(exitCode).toBe(0);
  expect(shown).toMatch(
    /^\nRedis\n {2}redis:\/\/127\.0\.0\.1:PORT\/0: (?:redis|valkey) [\d.]+\n {4}scripts with keys of several slots: refused: Weir sends each slot apart\n {4}a write takes N ms longer than an answer\n {4}maxmemory-policy: noeviction\n$/,
  );
  const refused = await probed({ time: "{ '0', '0' }" });
  expect(refused.exitCode).toBe(1);
  expect(refused.redis).toContain(': cannot be used: TIME in its scripts is 0 s since 1970; limits need a real clock there');
});

test('the deadline that an engine with slow writes needs is proposed', async () => {
  await weir.stop();
  // Far slower than an answer is in a busy moment of this machine.
  engine.become({ writeMs: 150 });
  weir = await startWeir({ config: CONFIG, env: { REDIS_URL: `127.0.0.1:${engine.port}`, FAILURE_MODE: 'unavailable' } });
  const proposal = /needs (\d+\.\d) ms for a write: if that is its nature, set REDIS_OP_TIMEOUT=\d+ms/;
  await until(() => proposal.test(weir.output()));
  expect(Number(proposal.exec(weir.output())?.[1])).toBeGreaterThan(50);
  const metrics = (await httpRequest(`http://127.0.0.1:${weir.debugPort}/metrics`)).body;
  expect(metrics).toMatch(/weir_redis_engine_info\{store="redis",engine="(?:redis|valkey)",version="\d[\d.]*"\} 1/);
});
