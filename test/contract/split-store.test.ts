/** Groups split bucket by bucket, over each store: the contract. */

import { SplitStore } from '../../src/store/split-store';
import { MemoryStore } from '../../src/store/memory-store';
import type { Store } from '../../src/store/store';
import { startRedis, type RedisServer } from '../support/redis-server';
import { openClockedRedis } from '../support/redis-store';
import { describeStore } from './store-contract';

let server: RedisServer;

beforeAll(async () => {
  server = await startRedis();
});

afterAll(() => server.stop());

function split(store: Store): SplitStore {
  const onHitsLost = (hits: number) => {
    throw new Error(`${hits} hits lost`);
  };
  return new SplitStore(store, { partOf: ({ bucketKey }) => bucketKey, timeoutMs: 5_000, onHitsLost });
}

describeStore('SplitStore over MemoryStore', () => {
  let nowUs = 0;
  const store = split(new MemoryStore({ nowUs: () => nowUs, bucketsMax: 1000 }));
  return Promise.resolve({
    store,
    setNow: (value) => {
      nowUs = value;
      return Promise.resolve();
    },
    close: () => store.close(),
  });
});

describeStore('SplitStore over RedisStore', async () => {
  const opened = await openClockedRedis(server);
  return { ...opened, store: split(opened.store) };
});
