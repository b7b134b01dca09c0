/** A bucket in Redis takes a bounded number of bytes. */

import type { Algorithm } from '../../src/domain/algorithm/algorithms';
import { bucketKey } from '../../src/domain/bucket/bucket-key';
import type { Take } from '../../src/domain/bucket/take';
import { isLimitProblem, makeLimit } from '../../src/domain/rule/limit';
import { groupOf, take } from '../support/decisions/groups';
import { openClockedRedis, type ClockedRedis } from '../support/redis/redis-store';
import { startRedis, type RedisServer } from '../support/redis/redis-server';
import { figure } from '../support/docs/figure';

const START_US = 1_800_000_000_123_456;
const RECORD_BYTES = 11;

let server: RedisServer;
let redis: ClockedRedis;

beforeAll(async () => {
  server = await startRedis();
});

beforeEach(async () => {
  redis = await openClockedRedis(server);
});

afterEach(() => redis.close());

afterAll(() => server.stop());

function takeOf(algorithm: Algorithm, requestsPerUnit: number): Take {
  const limit = makeLimit({ algorithm, requestsPerUnit, unit: 'minute' });
  if (isLimitProblem(limit)) throw new Error(limit.message);
  const key = bucketKey({ prefix: '', domain: 'payments', entries: [{ key: 'merchant', value: 'acme' }], limit });
  return take(key, { limit });
}

/** Takes hits, each in a microsecond of its own, and returns the memory of the bucket's key and value. */
async function measure(asked: Take, hits: number): Promise<number> {
  for (let i = 0; i < hits; i += 1) {
    await redis.setNow(START_US + i);
    await redis.store.take([groupOf([asked])]);
  }
  const bytes = Number(await redis.client.sendCommand(['MEMORY', 'USAGE', asked.bucketKey]));
  figure(`${asked.limit.algorithm}: ${hits.toLocaleString('en')} hits in ${bytes} bytes`);
  return bytes;
}

test.each(['token_bucket', 'leaky_bucket', 'fixed_window', 'sliding_window_counter'] as const)(
  '%s stays below 150 bytes for any number of hits',
  async (algorithm) => {
    // The leaky bucket holds one hit.
    for (const hits of [1, 500]) expect(await measure(takeOf(algorithm, 1_000), hits)).toBeLessThan(150);
  },
);

test.each([1, 10, 100, 1_000, 10_000])(
  'sliding_window_log takes 11 bytes per hit plus the overhead of Redis: %i hits',
  async (hits) => {
    const bytes = await measure(takeOf('sliding_window_log', hits), hits);
    // Redis sets aside up to a quarter more, for its allocator's sizes, or a twentieth of a large value.
    expect(bytes).toBeLessThan(150 + 1.3 * RECORD_BYTES * hits);
    expect(bytes).toBeGreaterThan(RECORD_BYTES * hits);
  },
  120_000,
);
