/** A refund during an outage reaches the store once, when it is back. */

import { ALGORITHMS } from '../../../src/domain/algorithm/algorithms';
import type { BucketLimit } from '../../../src/domain/bucket/take';
import { FallbackStore } from '../../../src/state/resilience/fallback';
import { UsageSnapshot } from '../../../src/state/resilience/usage-snapshot';
import { MemoryStore } from '../../../src/state/store/memory/memory-store';
import { groupOf, take } from '../../support/decisions/groups';
import { decided } from '../../support/decisions/outcomes';
import { SwitchedStore, type Failure } from '../../support/redis/switched-store';

const DAY_US = 86_400_000_000;
/** The start of a day. */
const START_US = 20_834 * DAY_US;
const DOWN: Failure = { reason: 'connection', mayHaveRun: false };
const HOUR_MS = 3_600_000;

const thousand = (algorithm: BucketLimit['algorithm']): BucketLimit => ({
  algorithm,
  windowUs: DAY_US,
  requestsPerUnit: 1_000,
  capacity: 1_000,
});

function open(limit: BucketLimit) {
  const clock = { nowMs: 0 };
  const nowUs = () => START_US + clock.nowMs * 1_000;
  const redis = new MemoryStore({ nowUs, bucketsMax: 100 });
  const switched = new SwitchedStore(redis);
  const lost: [number, string][] = [];
  const store = new FallbackStore(switched, {
    failureMode: 'local',
    local: new MemoryStore({ nowUs, bucketsMax: 100 }),
    lastKnown: new UsageSnapshot({ nowMs: () => clock.nowMs, bucketsMax: 100 }),
    accountsMax: 2,
    nowMs: () => clock.nowMs,
    nowUs,
    instances: () => 1,
    onFallback: () => undefined,
    onChargedBack: () => undefined,
    onLost: (hits, cause) => {
      if (hits > 0) lost.push([hits, cause]);
    },
  });
  const ask = async (hits: number, key = 'a') => decided((await store.take([groupOf([take(key, { hits, limit })])]))[0]);
  const back = async (): Promise<number> => {
    switched.failing = undefined;
    clock.nowMs += 2_000;
    store.chargeBack();
    for (let i = 0; i < 20; i += 1) await Promise.resolve();
    const [outcome] = await redis.take([groupOf([take('a', { hits: 0, limit })])]);
    return limit.capacity - decided(outcome).verdicts[0]!.remaining;
  };
  return { ask, back, switched, clock, lost };
}

test.each(ALGORITHMS)('%s: a refund during an outage reaches the store', async (algorithm) => {
  const { ask, back, switched, lost } = open(thousand(algorithm));
  await ask(500);
  switched.failing = DOWN;
  expect((await ask(-200)).overLimit).toBe(false);
  expect(await back()).toBe(300);
  expect(await back()).toBe(300);
  expect(lost).toEqual([]);
});

test('hits that were admitted in one outage and given back in the next are given back', async () => {
  const { ask, back, switched } = open(thousand('fixed_window'));
  await ask(500);
  switched.failing = DOWN;
  await ask(100);
  expect(await back()).toBe(600);
  switched.failing = DOWN;
  await ask(-100);
  await ask(30);
  await ask(-10);
  expect(await back()).toBe(520);
});

test('a refund is worth nothing after its window', async () => {
  const { ask, back, switched, clock } = open(thousand('fixed_window'));
  clock.nowMs = 23 * HOUR_MS;
  await ask(500);
  switched.failing = DOWN;
  await ask(-200);
  clock.nowMs = 25 * HOUR_MS;
  switched.failing = undefined;
  await ask(50);
  expect(await back()).toBe(50);
});

test('a refund of the next window does not bring back that of the last', async () => {
  const { ask, back, switched, clock } = open(thousand('fixed_window'));
  clock.nowMs = 23 * HOUR_MS;
  await ask(500);
  switched.failing = DOWN;
  await ask(-200);
  clock.nowMs = 25 * HOUR_MS;
  switched.failing = undefined;
  await ask(50, 'other');
  switched.failing = DOWN;
  await ask(-5);
  expect(await back()).toBe(0);
});

test('refunds that cannot be sent are counted as lost', async () => {
  const { ask, back, switched, lost } = open(thousand('fixed_window'));
  await ask(500);
  // The call itself may have run: then it is never sent again.
  switched.failing = { reason: 'timeout', mayHaveRun: true };
  await ask(-20);
  expect(lost).toEqual([[20, 'refund']]);
  switched.failing = DOWN;
  await ask(-30);
  // Its own answer is lost.
  switched.failing = { reason: 'timeout', mayHaveRun: true, runs: true, only: 'adjust' };
  await ask(1, 'other');
  for (let i = 0; i < 20; i += 1) await Promise.resolve();
  expect(lost).toEqual([
    [20, 'refund'],
    [30, 'refund'],
  ]);
  expect(await back()).toBe(470);
  switched.failing = DOWN;
  await ask(-40);
  // There is no room for its account any more.
  for (const key of ['x', 'y', 'z']) await ask(1, key);
  expect(lost).toContainEqual([40, 'room']);
});
