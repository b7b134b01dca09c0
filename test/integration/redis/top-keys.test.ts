/** The merged top 10 keys of three processes on one Redis are the exact ones. */

import { httpRequest } from '../../support/clients/http-client';
import { randomFrom } from '../../support/random/random';
import { startRedis, type RedisServer } from '../../support/redis/redis-server';
import { makeTestClient, storeOptions } from '../../support/redis/redis-store';
import { OVER_LIMIT, RlsClient } from '../../support/clients/rls-client';
import { writeConfig } from '../../support/config/temp-config';
import { until } from '../../support/clock/until';
import { startWeir, type WeirProcess } from '../../support/processes/weir-process';
import { RedisStore } from '../../../src/state/store/redis/redis-store';
import { FleetTopKeys } from '../../../src/state/top/fleet-top-keys';
import { LocalTopKeys } from '../../../src/state/top/local-top-keys';
import { PublishedTexts } from '../../../src/state/instances/published-texts';
import { RedisExchange } from '../../../src/state/top/redis-exchange';
import { zipf } from '../../unit/top/zipf';
import { hangLimitMs } from '../../support/clock/hang-limit';

const TIMEOUT_MS = 90_000;
const PROCESSES = 3;
const CALLS = 3_000;
const AT_ONCE = 50;
const PREFIX = 'limits/';
const METRIC_KEYS = 5;
/** The periods of all processes end within one, and are read again after two seconds. */
const SOON = { timeoutMs: 30_000 };

const CONFIG = writeConfig(`
domain: shop
descriptors:
  - { key: merchant, rate_limit: { unit: hour, requests_per_unit: 100, name: per-merchant } }
`);

let redis: RedisServer;
let store: RedisStore;
let processes: WeirProcess[];
let clients: RlsClient[];

beforeAll(async () => {
  redis = await startRedis();
  store = new RedisStore(storeOptions(redis.port));
  await store.connect({ waitMs: hangLimitMs(10_000) });
  const env = {
    REDIS_URL: `redis://127.0.0.1:${redis.port}`,
    REDIS_OP_TIMEOUT: '1s',
    CACHE_KEY_PREFIX: PREFIX,
    METRIC_TOP_KEYS: String(METRIC_KEYS),
  };
  processes = await Promise.all(Array.from({ length: PROCESSES }, () => startWeir({ config: CONFIG, env })));
  clients = processes.map(({ grpcPort }) => new RlsClient(grpcPort));
}, TIMEOUT_MS);

afterAll(async () => {
  for (const client of clients) client.close();
  await Promise.all(processes.map((weir) => weir.stop()));
  await store.close();
  await redis.stop();
});

function reader(): FleetTopKeys {
  const nowMs = () => performance.now();
  const local = new LocalTopKeys({ capacity: 64, nearLimitRatio: 0.8, nowMs });
  const texts = new PublishedTexts({ run: (call, options) => store.run(call, options), keyPrefix: PREFIX });
  const exchange = new RedisExchange(texts, 'reader');
  return new FleetTopKeys({ local, exchange, nowMs });
}

function topOf(counts: ReadonlyMap<string, number>): string[] {
  return [...counts].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1)).map(([merchant]) => `merchant=${merchant}`);
}

function add(counts: Map<string, number>, merchant: string): void {
  counts.set(merchant, (counts.get(merchant) ?? 0) + 1);
}

test(
  'the merged top 10 is the exact one within its bounds, and denied keys are in the metric',
  async () => {
    const random = randomFrom();
    const draw = zipf({ exponent: 1.1, keys: 300, random });
    const [asked, denied] = [new Map<string, number>(), new Map<string, number>()];
    for (let sent = 0; sent < CALLS; sent += AT_ONCE) {
      await Promise.all(
        Array.from({ length: AT_ONCE }, async () => {
          const merchant = `m${draw()}`;
          const { overall_code: code } = await clients[random(PROCESSES)]!.ask('shop', [{ entries: { merchant } }], {
            timeoutMs: hangLimitMs(10_000),
          });
          add(asked, merchant);
          if (code === OVER_LIMIT) add(denied, merchant);
        }),
      );
    }
    const fleet = reader();
    const answerOf = (question: 'asked' | 'denied' | 'near') => fleet.top({ question, minutes: 10, count: 10 });
    // The 10 minutes are published every 15 s, and soon after the start.
    await until(async () => (await answerOf('asked')).totalHits === CALLS, SOON);

    for (const [question, exact] of [
      ['asked', asked],
      ['denied', denied],
    ] as const) {
      const { items, instances, unlistedMax } = await answerOf(question);
      expect(instances).toBe(1 + PROCESSES);
      // Fewer keys than counters, so that every count is exact.
      expect(items.every(({ error }) => error === 0)).toBe(true);
      expect(items.map(({ entries }) => entries)).toEqual(topOf(exact).slice(0, 10));
      expect(items.map(({ entries, count }) => [entries, count])).toEqual(
        items.map(({ entries }) => [entries, exact.get(entries.replace('merchant=', ''))]),
      );
      expect(unlistedMax).toBe(exact.get(topOf(exact)[10]?.replace('merchant=', '') ?? '') ?? 0);
    }
    const [worst] = (await answerOf('denied')).items;
    expect(worst).toMatchObject({
      domain: 'shop',
      rule: 'merchant',
      remainingShare: 0,
      limit: { name: 'per-merchant', requestsPerUnit: 100 },
    });
    const near = await answerOf('near');
    expect(near.items[0]).toMatchObject({ usedShare: 1 });

    let metricSum = 0;
    for (const { debugPort } of processes) {
      const { body } = await httpRequest(`http://127.0.0.1:${debugPort}/metrics`);
      const lines = body.split('\n').filter((line) => line.startsWith('weir_top_key_hits{'));
      for (const question of ['asked', 'denied']) {
        expect(lines.filter((line) => line.includes(`question="${question}"`)).length).toBeLessThanOrEqual(METRIC_KEYS);
      }
      const line = lines.find((each) => each.includes(`key="${worst!.entries}"`) && each.includes('question="denied"'));
      metricSum += Number(line?.split(' ').at(-1));
    }
    expect(metricSum).toBe(worst!.count);
  },
  TIMEOUT_MS,
);

test('the texts in Redis are small, and expire', async () => {
  const client = await makeTestClient(redis.port).connect();
  const keys = await client.keys(`${PREFIX}weir:top:*`);
  expect(keys).toHaveLength(3 * PROCESSES);
  for (const key of keys) {
    expect(await client.pTTL(key)).toBeGreaterThan(0);
    expect(await client.strLen(key)).toBeLessThan(65_536);
  }
  client.destroy();
});
