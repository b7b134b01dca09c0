/** The Redis store charges a request in full or not at all, for all algorithms, modes, reports and slots. */

import { BreakerStore } from '../../src/state/resilience/breaker';
import { DeadlineStore } from '../../src/state/resilience/deadline';
import { FallbackStore } from '../../src/state/resilience/fallback';
import { UsageSnapshot } from '../../src/state/resilience/usage-snapshot';
import { BatchingStore } from '../../src/state/store/layers/batching-store';
import { MemoryStore } from '../../src/state/store/memory/memory-store';
import { RedisStore } from '../../src/state/store/redis/redis-store';
import { adjustment } from '../support/decisions/groups';
import { emptied, storeOptions } from '../support/redis/redis-store';
import { redisOfFile } from '../support/redis/redis-of-file';
import { describeStore } from './store-contract';

const redis = redisOfFile();

test('the store reports that nothing ran when it has no connection', async () => {
  const store = new RedisStore(storeOptions(redis.port));
  await expect(store.adjust([adjustment('a')])).rejects.toMatchObject({ reason: 'connection', mayHaveRun: false });
  await store.close();
});

describeStore('RedisStore', () => emptied(redis));

describeStore('FallbackStore over BreakerStore over RedisStore', async () => {
  const opened = await emptied(redis);
  const nowMs = () => performance.now();
  const breaker = new BreakerStore(opened.store, { failures: 5, windowMs: 10_000, openMs: 30_000, nowMs, onState: () => undefined });
  const store = new FallbackStore(breaker, {
    failureMode: 'closed',
    local: new MemoryStore({ nowUs: () => 0, bucketsMax: 1 }),
    lastKnown: new UsageSnapshot({ nowMs, bucketsMax: 100 }),
    accountsMax: 1,
    nowMs,
    nowUs: () => 0,
    instances: () => 1,
    onFallback: () => {
      throw new Error('a fallback has decided');
    },
    onChargedBack: () => undefined,
    onLost: () => undefined,
  });
  return { ...opened, store };
});

describeStore('BatchingStore over RedisStore', async () => {
  const opened = await emptied(redis);
  return {
    ...opened,
    store: new BatchingStore(opened.store, {
      partOf: () => 0,
      groupsMax: 100,
      timeoutMs: 5_000,
      nowMs: () => performance.now(),
      onGivenUp: () => undefined,
    }),
  };
});

describeStore('DeadlineStore over RedisStore', async () => {
  const opened = await emptied(redis);
  return { ...opened, store: new DeadlineStore(opened.store, { timeoutMs: 5_000, nowMs: () => performance.now() }) };
});
