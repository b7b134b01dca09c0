/** Each layer around a store keeps the store contract. */

import { DeadlineStore } from '../../src/state/resilience/deadline';
import { DenyCacheStore } from '../../src/state/resilience/deny-cache';
import { LeaseStore } from '../../src/state/resilience/lease-store';
import { UsageSnapshot } from '../../src/state/resilience/usage-snapshot';
import { BatchingStore } from '../../src/state/store/layers/batching-store';
import { MeasuredStore } from '../../src/state/store/layers/measured-store';
import { MemoryStore } from '../../src/state/store/memory/memory-store';
import type { Store } from '../../src/state/store/port/store';
import { StoreError } from '../../src/state/store/port/store-error';
import { groupOf, adjustment, take } from '../support/decisions/groups';
import { describeStore } from './store-contract';

const clockMs = () => performance.now();

const NO_MEASURE = { onCall: () => undefined, onError: () => undefined };

describeStore('DeadlineStore over MeasuredStore over MemoryStore', () => {
  let nowUs = 0;
  const memory = new MemoryStore({ nowUs: () => nowUs, bucketsMax: 1000 });
  const store = new DeadlineStore(new MeasuredStore(memory, NO_MEASURE), { timeoutMs: 5_000, nowMs: clockMs });
  return Promise.resolve({
    store,
    setNow: (value) => {
      nowUs = value;
      return Promise.resolve();
    },
    close: () => store.close(),
  });
});

describeStore('DenyCacheStore over BatchingStore over MemoryStore', () => {
  let nowUs = 0;
  // Denials are remembered as long as the clock stands: what is shown of one is of its own time.
  let nowMs = 0;
  const memory = new MemoryStore({ nowUs: () => nowUs, bucketsMax: 1000 });
  const batching = new BatchingStore(memory, {
    partOf: () => 0,
    groupsMax: 100,
    timeoutMs: 5_000,
    nowMs: () => 0,
    onGivenUp: () => undefined,
  });
  const lastKnown = new UsageSnapshot({ nowMs: () => nowMs, bucketsMax: 100 });
  const store = new DenyCacheStore(batching, { nowMs: () => nowMs, bucketsMax: 100, lastKnown, onDenied: () => undefined });
  return Promise.resolve({
    store,
    setNow: (value) => {
      nowUs = value;
      nowMs += 1_000;
      return Promise.resolve();
    },
    close: () => store.close(),
  });
});

describeStore('LeaseStore over MemoryStore', () => {
  let nowUs = 0;
  const memory = new MemoryStore({ nowUs: () => nowUs, bucketsMax: 1000 });
  const store = new LeaseStore(memory, {
    lastKnown: { record: () => undefined },
    leases: 'auto',
    instances: () => 1,
    nowMs: () => nowUs / 1_000,
    onHits: () => undefined,
  });
  return Promise.resolve({
    store,
    setNow: (value) => {
      nowUs = value;
      return Promise.resolve();
    },
    close: () => store.close(),
  });
});

/** A store of which every call ends as told. */
function storeThat(ends: () => Promise<never>): Store {
  return { take: ends, adjust: ends, close: () => Promise.resolve() };
}

const OPERATIONS = [
  ['take', (store: Store, timeoutMs?: number) => store.take([groupOf([take('a')])], timeoutMs === undefined ? {} : { timeoutMs })],
  ['adjust', (store: Store, timeoutMs?: number) => store.adjust([adjustment('a')], timeoutMs === undefined ? {} : { timeoutMs })],
] as const;

test('an adjustment may take longer than the deadline if its caller allows it', async () => {
  const answers: (() => void)[] = [];
  const slow: Store = {
    take: () => Promise.reject(new Error('not asked')),
    adjust: () =>
      new Promise((resolve) =>
        answers.push(() => {
          resolve([7]);
        }),
      ),
    close: () => Promise.resolve(),
  };
  const store = new DeadlineStore(slow, { timeoutMs: 2, nowMs: clockMs });
  await expect(store.adjust([adjustment('a')])).rejects.toThrow('the store did not answer within 2 ms');
  const adjusted = store.adjust([adjustment('a')], { timeoutMs: 5_000 });
  await new Promise((resolve) => setTimeout(resolve, 20));
  answers.at(-1)?.();
  expect(await adjusted).toEqual([7]);
});

describe.each(OPERATIONS)('%s', (_name, call) => {
  test("the store fails a call at its deadline, or at the caller's", async () => {
    const silent = storeThat(() => new Promise(() => undefined));
    await expect(call(new DeadlineStore(silent, { timeoutMs: 2, nowMs: clockMs }))).rejects.toThrow('the store did not answer within 2 ms');
    await expect(call(new DeadlineStore(silent, { timeoutMs: 60_000, nowMs: clockMs }), 1)).rejects.toThrow(
      'the store did not answer within 1 ms',
    );
  });

  test('the store is measured, with its errors by reason', async () => {
    const [seconds, reasons]: [number[], string[]] = [[], []];
    const measure = { onCall: (value: number) => seconds.push(value), onError: (reason: string) => reasons.push(reason) };
    await call(new MeasuredStore(new MemoryStore({ nowUs: () => 0, bucketsMax: 1 }), measure));
    expect(reasons).toEqual([]);
    const failing = storeThat(() => Promise.reject(new StoreError('gone', 'connection')));
    await expect(call(new MeasuredStore(failing, measure))).rejects.toThrow('gone');
    const broken = storeThat(() => Promise.reject(new Error('a fault')));
    await expect(call(new MeasuredStore(broken, measure))).rejects.toThrow('a fault');
    expect(reasons).toEqual(['connection', 'other']);
    expect(seconds).toHaveLength(3);
  });
});
