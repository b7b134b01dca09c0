/** The embedded store: the contract, and its bounds. */

import { MemoryStore } from '../../src/store/memory-store';
import { groupOf, take } from '../support/groups';
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
  test('expired buckets go, a few with each group', async () => {
    let nowUs = 0;
    const store = new MemoryStore({ nowUs: () => nowUs, bucketsMax: 1000 });
    for (let i = 0; i < 500; i += 1) await store.take([groupOf([take(`old-${i}`)])]);
    nowUs = 60_000_000;
    for (let i = 0; i < 500; i += 1) await store.take([groupOf([take(`new-${i}`)])]);
    expect(store.size).toBe(500);
    expect(store.evictions).toBe(0);
  });

  test('beyond the bound the bucket that nobody asked for longest goes, and is counted', async () => {
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
});
