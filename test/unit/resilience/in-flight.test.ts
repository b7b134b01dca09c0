/** Without Redis an instance admits its share of the slots, and no denial for lack of a slot is cached. */

import { DenyCacheStore } from '../../../src/state/resilience/deny-cache';
import { FallbackStore } from '../../../src/state/resilience/fallback';
import { UsageSnapshot } from '../../../src/state/resilience/usage-snapshot';
import { toLocalShare } from '../../../src/state/resilience/local-share';
import { slotIdOf } from '../../../src/domain/bucket/slot-id';
import type { Group } from '../../../src/domain/bucket/take';
import { BATCH_TAKES_MAX, BatchingStore } from '../../../src/state/store/layers/batching-store';
import { MemoryStore } from '../../../src/state/store/memory/memory-store';
import { isPerSecond } from '../../../src/state/store/layers/per-second-store';
import type { Store } from '../../../src/state/store/port/store';
import { groupOf, LIMITS, take } from '../../support/decisions/groups';
import { decided } from '../../support/decisions/outcomes';
import { SwitchedStore } from '../../support/redis/switched-store';
import { until } from '../../support/clock/until';

const START_US = 1_800_000_000_000_000;
const limit = { ...LIMITS.in_flight, requestsPerUnit: 10, capacity: 10 };
const begin = (id: string) => groupOf([take('a', { limit, slotId: slotIdOf(id) })]);
const end = (id: string) => groupOf([take('a', { limit, slotId: slotIdOf(id), hits: -1, overdraftMax: 0 })]);

async function fits(store: Store, group: Group): Promise<boolean> {
  const [outcome] = await store.take([group]);
  return !decided(outcome).overLimit;
}

async function free(store: Store): Promise<number> {
  const [outcome] = await store.take([groupOf([take('a', { limit, hits: 0, peek: true })])]);
  return decided(outcome).verdicts[0]!.remaining;
}

test('mode local admits a share of the slots without Redis, and charges those in flight without ids afterwards', async () => {
  const redis = new MemoryStore({ nowUs: () => START_US, bucketsMax: 10 });
  const switched = new SwitchedStore(redis);
  const store = new FallbackStore(switched, {
    failureMode: 'local',
    local: new MemoryStore({ nowUs: () => START_US, bucketsMax: 10 }),
    lastKnown: new UsageSnapshot({ nowMs: () => 0, bucketsMax: 10 }),
    accountsMax: 10,
    nowMs: () => 0,
    nowUs: () => START_US,
    instances: () => 2,
    onFallback: () => undefined,
    onChargedBack: () => undefined,
    onLost: () => undefined,
  });
  switched.failing = { reason: 'connection', mayHaveRun: false };
  const admitted: boolean[] = [];
  for (const id of ['a', 'b', 'c', 'd', 'e']) admitted.push(await fits(store, begin(id)));
  // Four fifths of ten, divided by two instances.
  expect(admitted).toEqual([true, true, true, true, false]);
  expect([await fits(store, begin('a')), await fits(store, end('a')), await fits(store, begin('e'))]).toEqual([true, true, true]);
  switched.failing = undefined;
  await fits(store, begin('x'));
  await until(async () => (await free(redis)) === 5);
  // What ends now is known by no id there: one of the slots that were charged goes for each.
  for (const id of ['b', 'c', 'd', 'e', 'x']) await fits(store, end(id));
  expect(await free(redis)).toBe(10);
});

test('a share of the slots has the same hold', () => {
  expect(toLocalShare(limit, { instances: 2 })).toEqual({ ...limit, capacity: 4, requestsPerUnit: 4 });
});

test('a denial for lack of a slot is never cached, since slots are released elsewhere', async () => {
  const memory = new MemoryStore({ nowUs: () => START_US, bucketsMax: 10 });
  const denials: number[] = [];
  const store = new DenyCacheStore(memory, {
    nowMs: () => 0,
    bucketsMax: 10,
    lastKnown: new UsageSnapshot({ nowMs: () => 0, bucketsMax: 10 }),
    onDenied: () => denials.push(1),
  });
  for (let i = 0; i < 10; i += 1) await fits(store, begin(`${i}`));
  expect(await fits(store, begin('one more'))).toBe(false);
  await memory.take([end('0')]);
  expect([await fits(store, begin('one more')), denials]).toEqual([true, []]);
});

test('slots with a hold of one second are on the store for all limits, where a longer hold finds them', () => {
  const second = { ...limit, windowUs: 1_000_000 };
  expect([isPerSecond(second), isPerSecond({ ...second, algorithm: 'sliding_window_log' })]).toEqual([false, true]);
});

test('many slots in a batch count as many takes', async () => {
  const sizes: number[] = [];
  const memory = new MemoryStore({ nowUs: () => START_US, bucketsMax: 1_000 });
  const counting: Store = {
    take: (groups) => {
      sizes.push(groups.length);
      return memory.take(groups);
    },
    adjust: (adjustments) => memory.adjust(adjustments),
    close: () => memory.close(),
  };
  const store = new BatchingStore(counting, {
    partOf: () => 0,
    groupsMax: 1_000,
    timeoutMs: 5_000,
    nowMs: () => 0,
    onGivenUp: () => undefined,
  });
  const large = { ...limit, requestsPerUnit: 9_000, capacity: 9_000 };
  await Promise.all(Array.from({ length: 100 }, (_, i) => store.take([groupOf([take(`${i}`, { limit: large })])])));
  // Each is ten takes.
  expect(Math.max(...sizes)).toBe(BATCH_TAKES_MAX / 10);
});
