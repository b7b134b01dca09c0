/** The embedded store keeps the store contract and bounds its memory. */

import { ALGORITHMS } from '../../src/domain/algorithm/algorithms';
import { MemoryStore } from '../../src/state/store/memory/memory-store';
import { groupOf, LIMITS, adjustment, take } from '../support/decisions/groups';
import { describeStore } from './store-contract';

describeStore('MemoryStore', () => {
  let nowUs = 0;
  const store = new MemoryStore({ nowUs: () => nowUs, bucketsMax: 1000 });
  return Promise.resolve({
    store,
    setNow: (value) => {
      nowUs = value;
      return Promise.resolve();
    },
    close: () => store.close(),
  });
});

describe('MemoryStore bounds its memory', () => {
  test('each group removes a few expired buckets', async () => {
    let nowUs = 0;
    const store = new MemoryStore({ nowUs: () => nowUs, bucketsMax: 1000 });
    for (let i = 0; i < 500; i += 1) await store.take([groupOf([take(`old-${i}`)])]);
    nowUs = 60_000_000;
    for (let i = 0; i < 500; i += 1) await store.take([groupOf([take(`new-${i}`)])]);
    expect(store.size).toBe(500);
    expect(store.evictions).toBe(0);
  });

  test('beyond its bound the store evicts the least recently requested bucket, and counts it', async () => {
    const store = new MemoryStore({ nowUs: () => 0, bucketsMax: 3 });
    await store.take([groupOf([take('exhausted', { hits: 10 })])]);
    for (let i = 0; i < 10; i += 1) {
      await store.take([groupOf([take(`flood-${i}`)])]);
      // Asked for again and denied: it stays, though a denial writes nothing.
      const [outcome] = await store.take([groupOf([take('exhausted')])]);
      expect(outcome).toMatchObject({ overLimit: true });
    }
    expect(store.size).toBe(3);
    expect(store.evictions).toBe(8);
  });

  test('a bucket that is full again takes no memory', async () => {
    const store = new MemoryStore({ nowUs: () => 0, bucketsMax: 10 });
    await store.take([groupOf([take('a', { hits: 3 })])]);
    await store.take([groupOf([take('a', { hits: -3 })])]);
    expect(store.size).toBe(0);
  });

  test.each(ALGORITHMS)('a bucket takes no memory once all its hits were given back (%s)', async (algorithm) => {
    const limit = LIMITS[algorithm];
    const store = new MemoryStore({ nowUs: () => 1, bucketsMax: 10 });
    await store.take([groupOf([take('a', { limit, hits: 2 })])]);
    expect(await store.adjust([adjustment('a', { limit, hits: -2, takenAtUs: 1 })])).toEqual([2]);
    expect(store.size).toBe(0);
  });

  test('adjustments keep to the memory bound and remove expired buckets as groups do', async () => {
    let nowUs = 0;
    const store = new MemoryStore({ nowUs: () => nowUs, bucketsMax: 5 });
    for (let i = 0; i < 10; i += 1) await store.adjust([adjustment(`a-${i}`)]);
    expect([store.size, store.evictions]).toEqual([5, 5]);
    nowUs = 60_000_000;
    for (let i = 0; i < 5; i += 1) await store.adjust([adjustment('b', { hits: 0 })]);
    expect(store.size).toBe(0);
  });
});
