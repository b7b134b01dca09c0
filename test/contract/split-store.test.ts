/** Groups that are split by bucket, slot or server keep the store contract. */

import { slotOf } from '../../src/state/store/redis/cluster-slots';
import { MemoryStore } from '../../src/state/store/memory/memory-store';
import { isPerSecond, PerSecondStore } from '../../src/state/store/layers/per-second-store';
import { RedisClusterStore } from '../../src/state/store/redis/cluster/redis-cluster-store';
import { SplitStore, type SplitStoreOptions } from '../../src/state/store/layers/split-store';
import type { Store } from '../../src/state/store/port/store';
import { BucketError } from '../../src/state/store/port/store-error';
import { groupOf, take } from '../support/decisions/groups';
import { redisOfFile } from '../support/redis/redis-of-file';
import { emptied } from '../support/redis/redis-store';
import { describeStore, type StoreUnderTest } from './store-contract';
import { hangLimitMs } from '../support/clock/hang-limit';

const redis = redisOfFile();
const lost: number[] = [];

/** In no scenario is any. */
afterEach(() => {
  expect(lost.splice(0)).toEqual([]);
});

function split(store: Store, partOf: SplitStoreOptions['partOf'] = ({ bucketKey }) => bucketKey): SplitStore {
  const onHitsLost = (hits: number) => lost.push(hits);
  return new SplitStore(store, { partOf, timeoutMs: 5_000, onHitsLost, onGivenBack: () => undefined });
}

/** A store over stores in memory, of which all have the clock that the suite sets. */
async function overMemory(make: (newMemory: () => MemoryStore) => Promise<Store>): Promise<StoreUnderTest> {
  let nowUs = 0;
  const store = await make(() => new MemoryStore({ nowUs: () => nowUs, bucketsMax: 1000 }));
  return {
    store,
    setNow: (value) => {
      nowUs = value;
      return Promise.resolve();
    },
    close: () => store.close(),
  };
}

describeStore('SplitStore over MemoryStore', () => overMemory((newMemory) => Promise.resolve(split(newMemory()))));

describeStore('SplitStore over PerSecondStore', () =>
  overMemory((newMemory) =>
    Promise.resolve(split(new PerSecondStore(newMemory(), newMemory()), ({ limit }) => String(isPerSecond(limit)))),
  ),
);

describeStore('SplitStore over RedisClusterStore', () =>
  overMemory(async (newMemory) => {
    const table = [0, 1, 2, 3].map((n) => [n * 4_096, n * 4_096 + 4_095, [`node-${n}`, 1, 'id']]);
    const store = new RedisClusterStore({
      seeds: [{ host: 'node-0', port: 1 }],
      timeoutMs: 5_000,
      connectTimeoutMs: 5_000,
      onConnection: () => undefined,
      onRedirect: () => undefined,
      onUnasked: () => undefined,
      makeNode: (_address, onConnection) => ({
        store: newMemory(),
        importing: newMemory(),
        connect: () =>
          Promise.resolve().then(() => {
            onConnection({ connected: true });
          }),
        readSlots: () => Promise.resolve(table),
        beat: () => Promise.resolve(1),
        run: () => Promise.reject(new Error('not asked')),
        isThere: () => true,
        setInUse: () => undefined,
      }),
    });
    await store.connect({ waitMs: hangLimitMs(5_000) });
    return split(store, ({ bucketKey }) => slotOf(bucketKey));
  }),
);

describeStore('SplitStore over RedisStore', async () => {
  const opened = await emptied(redis);
  return { ...opened, store: split(opened.store) };
});

test('an unreadable bucket leaves its part uncharged, and no hit is reported as lost', async () => {
  await redis.client.flushAll();
  await redis.setNow(1_800_000_000_000_000);
  await redis.client.set('text', 'no bucket');
  const [outcome] = await split(redis.store).take([groupOf([take('a', { mode: 'shadow' }), take('text', { hits: 3, mode: 'shadow' })])]);
  expect(outcome).toBeInstanceOf(BucketError);
  expect(await redis.client.exists('a')).toBe(0);
});
