/** Buckets in several places are decided in parallel, without waiting for each other. */

import { OneByOneStore } from '../../../src/state/store/layers/one-by-one-store';
import { MemoryStore } from '../../../src/state/store/memory/memory-store';
import type { Store } from '../../../src/state/store/port/store';
import { StoreError } from '../../../src/state/store/port/store-error';
import { groupOf, take } from '../../support/decisions/groups';
import { decided } from '../../support/decisions/outcomes';

function storeOf(intercept: (bucketKey: string) => Promise<void>): { readonly store: OneByOneStore; readonly asked: string[][] } {
  const memory = new MemoryStore({ nowUs: () => 0, bucketsMax: 100 });
  const asked: string[][] = [];
  const inner: Store = {
    take: async (groups, options) => {
      const keys = groups.map(({ takes }) => takes[0]!.bucketKey);
      asked.push(keys);
      await intercept(keys[0]!);
      expect(options).toEqual({ timeoutMs: 7 });
      return memory.take(groups);
    },
    adjust: (adjustments) => memory.adjust(adjustments),
    close: () => memory.close(),
  };
  return { store: new OneByOneStore(inner), asked };
}

const GROUPS = ['a', 'b', 'c'].map((key) => groupOf([take(key)]));

test('the parts are called at once, and a failed part is the only one that fails', async () => {
  const error = new StoreError('gone', 'connection');
  let release = (): void => undefined;
  const held = new Promise<void>((resolve) => (release = resolve));
  const { store, asked } = storeOf((key) => (key === 'b' ? Promise.reject(error) : held));
  const outcomes = store.take(GROUPS, { timeoutMs: 7 });
  expect(asked).toEqual([['a'], ['b'], ['c']]);
  release();
  const [a, b, c] = await outcomes;
  expect(b).toBe(error);
  expect([decided(a).overLimit, decided(c).overLimit]).toEqual([false, false]);
});

test('an internal fault is passed on', async () => {
  const { store } = storeOf(() => Promise.reject(new TypeError('oops')));
  await expect(store.take(GROUPS, { timeoutMs: 7 })).rejects.toThrow('oops');
});
