/** The twins: Lua in a real Redis and TypeScript agree on every field of every verdict, and on every state. */

import fc from 'fast-check';
import { RESP_TYPES } from 'redis';
import { decideGroup } from '../../src/engine/decide-group';
import type { BucketState } from '../../src/engine/engines';
import { ALGORITHMS } from '../../src/rule/limit';
import { packState } from '../support/pack-state';
import { openClockedRedis, type ClockedRedis } from '../support/redis-store';
import { startRedis, type RedisServer } from '../support/redis-server';
import { seeded } from '../support/random';
import { schedules, type ScheduleStep } from '../support/schedules';

const RUNS = 1_000;
const TIMEOUT_MS = 120_000;

let server: RedisServer;
let redis: ClockedRedis;

beforeAll(async () => {
  server = await startRedis();
  redis = await openClockedRedis(server);
});

afterAll(async () => {
  await redis.close();
  await server.stop();
});

test.each([...ALGORITHMS, undefined])(
  'twins of %s agree (undefined: any mix)',
  async (algorithm) => {
    await fc.assert(fc.asyncProperty(schedules(algorithm), runOnBoth), seeded(RUNS));
  },
  TIMEOUT_MS,
);

async function runOnBoth(steps: readonly ScheduleStep[]): Promise<void> {
  await redis.client.flushAll();
  const states = new Map<string, BucketState>();
  for (const { nowUs, group } of steps) {
    const { writes, ...expected } = decideGroup({ group, nowUs, read: (key) => states.get(key) });
    for (const { bucketKey, state } of writes) {
      if (state === undefined) states.delete(bucketKey);
      else states.set(bucketKey, state);
    }
    await redis.setNow(nowUs);
    const [outcome] = await redis.store.take([group]);
    expect(outcome).toEqual(expected);
    const keys = [...new Set(group.takes.map((take) => take.bucketKey))];
    const stored = await redis.client.withTypeMapping({ [RESP_TYPES.BLOB_STRING]: Buffer }).mGet(keys);
    expect(stored.map((value) => value?.toString('latin1') ?? null)).toEqual(keys.map((key) => (states.has(key) ? packState(states.get(key)!) : null)));
  }
}
