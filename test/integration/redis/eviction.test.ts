/** A real Redis that evicts keys: what Weir says of it, and that it goes without INFO. */

import { Health } from '../../../src/server/observability/health';
import { MAY_EVICT, RedisEviction } from '../../../src/server/observability/redis-eviction';
import { EvictionWatch } from '../../../src/state/store/redis/eviction-watch';
import { httpRequest } from '../../support/clients/http-client';
import { until } from '../../support/clock/until';
import { writeConfig } from '../../support/config/temp-config';
import { readAclLine } from '../../support/docs/acl-line';
import { startWeir, type WeirProcess } from '../../support/processes/weir-process';
import { startRedis, type RedisServer } from '../../support/redis/redis-server';
import { openClockedRedis, type ClockedRedis } from '../../support/redis/redis-store';

const CONFIG = writeConfig('domain: d\ndescriptors: [{ key: k, rate_limit: { unit: year, requests_per_unit: 2 } }]\n');
const TIMEOUT_MS = 60_000;

let redis: RedisServer;
let opened: ClockedRedis;

beforeAll(async () => {
  redis = await startRedis({ config: ['--maxmemory', '4mb', '--maxmemory-policy', 'volatile-lru'] });
  opened = await openClockedRedis(redis);
});

afterAll(async () => {
  await opened.close();
  await redis.stop();
});

async function pageOf({ httpPort, debugPort }: WeirProcess): Promise<{ health: string; metrics: string }> {
  const [health, metrics] = await Promise.all([
    httpRequest(`http://127.0.0.1:${httpPort}/healthcheck`),
    httpRequest(`http://127.0.0.1:${debugPort}/metrics`),
  ]);
  return { health: health.body, metrics: metrics.body };
}

test(
  'a Redis that may evict buckets is in health, log and metrics',
  async () => {
    const weir = await startWeir({ config: CONFIG, env: { REDIS_URL: `127.0.0.1:${redis.port}`, LOG_FORMAT: 'json' } });
    await until(async () => (await pageOf(weir)).health === `OK\n${MAY_EVICT}\n`);
    expect(weir.output()).toMatch(/"level":"warn".*"code":"redis_evicts","address":"[^"]*","policy":"volatile-lru"/);
    expect((await pageOf(weir)).metrics).toContain('weir_redis_evicted_keys_total{store="redis"} 0');
    await weir.stop();
  },
  TIMEOUT_MS,
);

test('keys that Redis evicts are counted and logged', async () => {
  const lines: unknown[] = [];
  const counted: number[] = [];
  const health = new Health();
  const eviction = new RedisEviction({
    health,
    log: { warn: (fields: unknown) => lines.push(fields) } as never,
    metrics: { redisEvictedKeys: { inc: (_labels: unknown, keys: number) => counted.push(keys) } } as never,
    nowMs: () => 0,
  });
  const { onLook, forget } = eviction.watch();
  const watch = new EvictionWatch({
    read: () => opened.store.readEviction(),
    onLook: (look) => {
      onLook({ ...look, address: 'here', store: 'redis' });
    },
  });
  await watch.look();
  const value = 'x'.repeat(10_000);
  for (let i = 0; i < 800; i += 1) await opened.client.set(`filler ${i}`, value, { expiration: { type: 'EX', value: 60 } });
  await watch.look();
  expect(counted[0]).toBe(0);
  expect(counted[1]).toBeGreaterThan(0);
  expect(lines).toEqual([
    { code: 'redis_evicts', address: 'here', policy: 'volatile-lru' },
    { code: 'redis_evicts', address: 'here', keys: counted[1] },
  ]);
  expect(health.degradations).toEqual([MAY_EVICT]);
  forget();
  expect(health.degradations).toEqual([]);
});

test(
  'a Redis that refuses INFO is used without',
  async () => {
    const { rules, prefix } = readAclLine();
    expect(rules).toContain('+info');
    const own = rules.filter((rule) => rule !== '+info' && !rule.startsWith('>'));
    await opened.client.sendCommand(['ACL', 'SETUSER', 'weir', ...own, '>secret']);
    await opened.client.sendCommand(['ACL', 'LOG', 'RESET']);
    const env = { REDIS_URL: `127.0.0.1:${redis.port}`, REDIS_AUTH: 'weir:secret', CACHE_KEY_PREFIX: prefix };
    const weir = await startWeir({ config: CONFIG, env });
    const { health, metrics } = await pageOf(weir);
    expect([health, metrics.includes('weir_redis_evicted_keys_total{')]).toEqual(['OK', false]);
    // One look at two sections, which Redis notes as one kind.
    const denied = (await opened.client.sendCommand(['ACL', 'LOG'])) as unknown as readonly (readonly unknown[])[];
    expect(denied.map((entry) => String(entry[7]))).toEqual(['info']);
    await weir.stop();
  },
  TIMEOUT_MS,
);
