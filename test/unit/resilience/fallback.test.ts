/** During an outage an instance admits its share of a limit, and charges the store once afterwards. */

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { ALGORITHMS, type Algorithm } from '../../../src/domain/algorithm/algorithms';
import type { BucketLimit } from '../../../src/domain/bucket/take';
import { FallbackStore, type FallbackOptions } from '../../../src/state/resilience/fallback';
import { UsageSnapshot } from '../../../src/state/resilience/usage-snapshot';
import { type FailureMode } from '../../../src/domain/rule/limit';
import { MemoryStore } from '../../../src/state/store/memory/memory-store';
import type { GroupOutcome, Store } from '../../../src/state/store/port/store';
import { StoreError } from '../../../src/state/store/port/store-error';
import { groupOf, LIMITS, take, TEN_PER_SECOND } from '../../support/decisions/groups';
import { decided } from '../../support/decisions/outcomes';
import { SwitchedStore, type Failure } from '../../support/redis/switched-store';

const START_US = 1_800_000_000_000_000;

function open({
  failing,
  accountsMax = 10,
  redisAheadUs = 0,
  ...options
}: Partial<FallbackOptions> & { failing?: Failure; redisAheadUs?: number } = {}) {
  const clock = { nowMs: 0 };
  const nowUs = () => START_US + clock.nowMs * 1_000;
  const redis = new MemoryStore({ nowUs: () => nowUs() + redisAheadUs, bucketsMax: 100 });
  const switched = new SwitchedStore(redis);
  switched.failing = failing;
  const passed = { local: 0, open: 0, decisions: 0, chargedBack: 0, lost: 0 };
  const store = new FallbackStore(switched, {
    failureMode: 'local',
    local: new MemoryStore({ nowUs, bucketsMax: 2_000 }),
    lastKnown: new UsageSnapshot({ nowMs: () => clock.nowMs, bucketsMax: 100 }),
    accountsMax,
    nowMs: () => clock.nowMs,
    nowUs,
    instances: () => 1,
    onFallback: ({ local, open: opened }) => {
      passed.local += local;
      passed.open += opened;
      passed.decisions += 1;
    },
    onChargedBack: (hits) => (passed.chargedBack += hits),
    onLost: (hits) => (passed.lost += hits),
    ...options,
  });
  const ask = async (key: string, hits: number, mode?: FailureMode) => {
    const [outcome] = await store.take([groupOf([take(key, { hits, ...(mode && { failureMode: mode }) })])]);
    return decided(outcome);
  };
  /** Asks a number of single hits, and returns how many pass. */
  const admittedOf = async (key: string, calls: number) => {
    let admitted = 0;
    for (let i = 0; i < calls; i += 1) if (!(await ask(key, 1)).overLimit) admitted += 1;
    return admitted;
  };
  const usedInStore = async (key: string, limit = TEN_PER_SECOND) => {
    const [outcome] = await redis.take([groupOf([take(key, { hits: 0, limit })])]);
    return limit.capacity - decided(outcome).verdicts[0]!.remaining;
  };
  return { store, switched, clock, passed, ask, admittedOf, usedInStore };
}

const DAY_US = 86_400_000_000;
const MESSAGES = 200;
const MESSAGE_BYTES = 100_000;

/** Nothing comes back within a test. */
const YEAR: BucketLimit = { ...TEN_PER_SECOND, windowUs: 31_536_000_000_000 };

const DOWN: Failure = { reason: 'connection', mayHaveRun: false };

test.each([
  ['local', 8, [false, true], { local: 8, open: 0 }],
  ['open', 80, [false, false], { local: 0, open: 81 }],
  ['closed', 1, [true, true], { local: 0, open: 0 }],
] as const)('%s', async (failureMode, hits, over, hitsPassed) => {
  const { ask, passed } = open({ failureMode, failing: DOWN });
  const first = await ask('a', hits);
  const second = await ask('a', 1);
  expect([first.overLimit, second.overLimit]).toEqual(over);
  expect([first.fallback, second.fallback]).toEqual([true, true]);
  expect(passed).toMatchObject({ ...hitsPassed, decisions: 2 });
});

test.each(['cached', 'leased'] as const)('a %s verdict does not show that the store decides again', async (from) => {
  const { switched, ask, admittedOf } = open({ failing: { reason: 'connection', mayHaveRun: false } });
  expect(await admittedOf('a', 3)).toBe(3);
  switched.take = () => Promise.resolve([{ overLimit: false, verdicts: [], nowUs: START_US, [from]: true }]);
  await ask('a', 1);
  expect(switched.asked.adjust).toBe(0);
});

test('unavailable passes on the error of the store', async () => {
  await expect(open({ failureMode: 'unavailable', failing: { reason: 'timeout' } }).ask('a', 1)).rejects.toMatchObject({
    reason: 'timeout',
  });
});

test('one take that may not be decided here fails its whole group', async () => {
  const { store } = open({ failing: DOWN });
  const [outcome] = await store.take([groupOf([take('a'), take('b', { failureMode: 'unavailable' })])]);
  expect(outcome).toBeInstanceOf(StoreError);
});

test('mixed modes are decided together: closed denies, and nothing is taken', async () => {
  const { store, ask, switched, passed } = open({ failing: DOWN });
  const [denied] = await store.take([
    groupOf([take('a', { hits: 8 }), take('b', { failureMode: 'closed' }), take('c', { failureMode: 'open' })]),
  ]);
  expect(decided(denied).verdicts.map((verdict) => verdict.fits)).toEqual([true, false, true]);
  expect(passed).toMatchObject({ local: 0, open: 0 });
  expect((await ask('a', 8)).overLimit).toBe(false);
  switched.failing = undefined;
  await ask('z', 1);
  await settled();
  expect(passed).toMatchObject({ chargedBack: 8 });
});

test('overload is shed and not decided here', async () => {
  await expect(open({ failing: { reason: 'overload' }, failureMode: 'open' }).ask('a', 1)).rejects.toMatchObject({ reason: 'overload' });
});

test('only the failed ones of several groups are decided here', async () => {
  const verdict = { overLimit: true, verdicts: [], nowUs: 7 };
  const outcomes: readonly GroupOutcome[] = [verdict, new StoreError('no', 'script')];
  const { store: innermost, switched } = open();
  const inner: Store = {
    take: () => Promise.resolve(outcomes),
    adjust: (entries) => switched.adjust(entries),
    close: () => innermost.close(),
  };
  const { store } = around(inner);
  const [first, second] = await store.take([groupOf([take('a')]), groupOf([take('b')])]);
  expect(first).toBe(verdict);
  expect(decided(second)).toMatchObject({ overLimit: false, fallback: true });
});

test('an internal fault does not count as a fault of the store', async () => {
  const { switched } = open();
  const inner: Store = {
    take: () => Promise.reject(new TypeError('ours')),
    adjust: (entries) => switched.adjust(entries),
    close: () => switched.close(),
  };
  await expect(around(inner).store.take([groupOf([take('a')])])).rejects.toThrow('ours');
});

function around(inner: Store) {
  const nowUs = () => START_US;
  const store = new FallbackStore(inner, {
    failureMode: 'local',
    local: new MemoryStore({ nowUs, bucketsMax: 100 }),
    lastKnown: new UsageSnapshot({ nowMs: () => 0, bucketsMax: 100 }),
    accountsMax: 10,
    nowMs: () => 0,
    nowUs,
    instances: () => 1,
    onFallback: () => undefined,
    onChargedBack: () => undefined,
    onLost: () => undefined,
  });
  return { store };
}

/** Lets everything run that waits for nothing but promises. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

describe('mode local', () => {
  test.each([
    [10, 8],
    [7, 5],
    [1, 1],
    [0, 0],
  ])('a bucket starts from the share of its last known remaining hits: %i, %i', async (left, share) => {
    const { ask, admittedOf, switched } = open();
    if (left < 10) await ask('a', 10 - left);
    switched.failing = DOWN;
    expect(await admittedOf('a', 20)).toBe(share);
  });

  test('a bucket that was used up long ago starts full', async () => {
    const { ask, admittedOf, switched, clock } = open();
    await ask('a', 10);
    clock.nowMs += 1_000;
    switched.failing = DOWN;
    expect(await admittedOf('a', 20)).toBe(8);
  });

  test('a bucket refills at the rate of the share', async () => {
    const { admittedOf, clock } = open({ failing: DOWN });
    expect(await admittedOf('a', 20)).toBe(8);
    clock.nowMs += 1_000;
    expect(await admittedOf('a', 20)).toBe(8);
  });

  test('a bucket keeps the number of instances of its first decision', async () => {
    let instances = 1;
    const { admittedOf } = open({ failing: DOWN, instances: () => instances });
    expect(await admittedOf('a', 6)).toBe(6);
    instances = 2;
    expect(await admittedOf('a', 6)).toBe(2);
    expect(await admittedOf('b', 6)).toBe(4);
  });

  test('beyond its bound the least recently used bucket is dropped, logged and remembered', async () => {
    const { admittedOf, passed } = open({ failing: DOWN, accountsMax: 2 });
    expect(await admittedOf('a', 20)).toBe(8);
    expect(await admittedOf('b', 20)).toBe(8);
    await admittedOf('a', 1);
    expect(await admittedOf('c', 20)).toBe(8);
    expect(passed.lost).toBe(8);
    expect(await admittedOf('a', 20)).toBe(0);
    expect(await admittedOf('b', 20)).toBe(0);
  });

  test('a used-up share that was dropped does not return, however small a part of the limit it is', async () => {
    const { admittedOf } = open({ failing: DOWN, accountsMax: 1, instances: () => 7 });
    const admitted = { a: 0, b: 0 };
    for (let round = 0; round < 5; round += 1) {
      admitted.a += await admittedOf('a', 3);
      admitted.b += await admittedOf('b', 3);
    }
    expect(admitted).toEqual({ a: 1, b: 1 });
  });

  test('a used-up bucket is dropped after those that have hits left', async () => {
    const { admittedOf } = open({ failing: DOWN, accountsMax: 8, lastKnown: new UsageSnapshot({ nowMs: () => 0, bucketsMax: 1 }) });
    expect(await admittedOf('used-up', 20)).toBe(8);
    for (let i = 0; i < 20; i += 1) expect(await admittedOf(`fresh-${i}`, 1)).toBe(1);
    expect(await admittedOf('used-up', 20)).toBe(0);
  });

  test('a bucket that no longer counts is dropped before all others, and loses nothing', async () => {
    const { admittedOf, clock, passed } = open({
      failing: DOWN,
      accountsMax: 8,
      lastKnown: new UsageSnapshot({ nowMs: () => 0, bucketsMax: 1 }),
    });
    expect(await admittedOf('used-up', 20)).toBe(8);
    clock.nowMs += 2_000;
    for (let i = 0; i < 7; i += 1) await admittedOf(`fresh-${i}`, 1);
    expect(await admittedOf('one more', 1)).toBe(1);
    expect(passed.lost).toBe(0);
    expect(await admittedOf('fresh-0', 20)).toBe(7);
  });

  test.each<[Algorithm, number, number, number]>([
    ['fixed_window', 59_000, 60_000, 8],
    ['sliding_window_counter', 0, 61_000, 0],
    ['sliding_window_counter', 59_000, 120_000, 8],
    ['token_bucket', 0, 30_000, 4],
  ])(
    'a dropped %s of a minute is remembered while it counts: %i ms after its start, at %i ms %i may pass',
    async (algorithm, droppedAtMs, laterMs, admitted) => {
      const { store, clock } = open({ failing: DOWN, accountsMax: 1 });
      const limit: BucketLimit = { ...TEN_PER_SECOND, algorithm, windowUs: 60_000_000 };
      const passes = async (key: string) => !decided((await store.take([groupOf([take(key, { limit })])]))[0]).overLimit;
      const admittedOf = async (key: string) => {
        let count = 0;
        while (await passes(key)) count += 1;
        return count;
      };
      clock.nowMs = droppedAtMs;
      expect(await admittedOf('a')).toBe(8);
      await passes('b');
      clock.nowMs = laterMs;
      expect(await admittedOf('a')).toBe(admitted);
    },
  );

  test.each<[string, Failure, number]>([
    ['was surely not run', DOWN, 4],
    ['may have been run', { reason: 'timeout', runs: true }, 6],
  ])('a refund that %s gives its hits back once: where the bucket is decided here', async (_what, failing, chargedBack) => {
    const { store, switched, passed, usedInStore } = open();
    const ask = async (hits: number) => decided((await store.take([groupOf([take('a', { hits, limit: YEAR })])]))[0]).overLimit;
    expect(await ask(2)).toBe(false);
    switched.failing = DOWN;
    expect(await ask(6)).toBe(false);
    switched.failing = failing;
    expect(await ask(-2)).toBe(false);
    switched.failing = undefined;
    store.chargeBack();
    await settled();
    expect(passed).toMatchObject({ local: 6, chargedBack });
    expect(await usedInStore('a', YEAR)).toBe(2 + 6 - 2);
  });

  test('the largest limit on one bucket determines the charge', async () => {
    const { store, switched, usedInStore } = open({ failing: DOWN });
    const large = { ...TEN_PER_SECOND, requestsPerUnit: 100, capacity: 100 };
    await store.take([groupOf([take('a', { hits: 50, limit: large })])]);
    await store.take([groupOf([take('a', { hits: 1 })])]);
    switched.failing = undefined;
    store.chargeBack();
    await settled();
    expect(await usedInStore('a', large)).toBe(50);
  });

  test('refunds lower the charge, and those of a denied request do not', async () => {
    const { store, ask, switched, usedInStore } = open({ failing: DOWN });
    await ask('a', 5);
    await ask('a', -2);
    await store.take([groupOf([take('a', { hits: -2 }), take('b', { failureMode: 'closed' })])]);
    switched.failing = undefined;
    store.chargeBack();
    await settled();
    expect(await usedInStore('a')).toBe(3);
  });

  test.each([
    ['a store that comes and goes', undefined],
    ['a store that never decides on this bucket, and takes each charge', { reason: 'script', only: 'take' } as const],
  ])('%s renews no share', async (_name, between) => {
    const { store, switched, clock } = open({ failing: DOWN });
    let admitted = 0;
    for (let outage = 0; outage < 20; outage += 1) {
      switched.failing = between ?? DOWN;
      for (let i = 0; i < 10; i += 1) {
        const [outcome] = await store.take([groupOf([take('a', { limit: YEAR })])]);
        if (!decided(outcome).overLimit) admitted += 1;
      }
      switched.failing = between;
      clock.nowMs += 2_000;
      store.chargeBack();
      await settled();
    }
    expect(admitted).toBe(YEAR.capacity);
  });
});

describe('checks and usage reports', () => {
  test('a check is denied when the share is used up, in mode closed always, in mode open never', async () => {
    const { ask } = open({ failing: DOWN });
    expect((await ask('a', 0)).overLimit).toBe(false);
    await ask('a', 8);
    expect((await ask('a', 0)).overLimit).toBe(true);
    expect((await ask('b', 0, 'closed')).overLimit).toBe(true);
    expect((await ask('c', 0, 'open')).overLimit).toBe(false);
  });

  test('a usage report is charged here in full, and to the store when it is back, below zero too', async () => {
    const { store, switched, passed } = open({ failing: DOWN });
    const report = take('tokens', { limit: YEAR, hits: 14, overdraftMax: 10 });
    const [away] = await store.take([groupOf([report, take('other', { limit: YEAR, hits: 9 })])]);
    expect(decided(away)).toMatchObject({ overLimit: true, fallback: true, verdicts: [{ fits: false, debt: 6 }, { fits: false }] });
    expect(passed).toMatchObject({ local: 14 });
    switched.failing = undefined;
    await store.take([groupOf([take('z')])]);
    await settled();
    expect(passed).toMatchObject({ chargedBack: 14, lost: 0 });
    const [back] = await switched.take([groupOf([take('tokens', { limit: YEAR, hits: 0 })])]);
    expect(decided(back).verdicts).toMatchObject([{ fits: false, debt: 4 }]);
  });

  test('a report beyond its overdraft is cut off here, and the rest is not charged', async () => {
    const { store, switched, passed } = open({ failing: DOWN });
    await store.take([groupOf([take('tokens', { limit: YEAR, hits: 30, overdraftMax: 5 })])]);
    switched.failing = undefined;
    await store.take([groupOf([take('z')])]);
    await settled();
    expect(passed).toMatchObject({ chargedBack: 13, lost: 0 });
  });

  test.each(['local', 'open', 'closed'] as const)('a refund whose call timed out is not denied, in its own mode: %s', async (mode) => {
    for (const failureMode of ['local', 'open', 'closed'] as const) {
      const { ask } = open({ failureMode, failing: { reason: 'timeout', mayHaveRun: true } });
      expect((await ask('a', -1, mode)).overLimit).toBe(false);
    }
  });

  test('beside a refund whose call timed out its own mode decides', async () => {
    const { store, passed } = open({ failureMode: 'closed', failing: { reason: 'timeout', mayHaveRun: true } });
    await store.take([groupOf([take('a', { hits: -1, failureMode: 'open' }), take('b', { hits: 2, failureMode: 'open' })])]);
    expect(passed).toMatchObject({ open: 2 });
  });

  test('a report in mode closed charges nothing', async () => {
    const { store, switched, passed } = open({ failing: DOWN });
    const [away] = await store.take([groupOf([take('a', { hits: 3, overdraftMax: 10, failureMode: 'closed' })])]);
    expect(decided(away).overLimit).toBe(true);
    switched.failing = undefined;
    await store.take([groupOf([take('z')])]);
    await settled();
    expect(passed).toMatchObject({ local: 0, chargedBack: 0 });
  });
});

describe('charge-back to a store that is back', () => {
  test.each(ALGORITHMS)('it charges admitted hits that still count: %s', async (algorithm) => {
    const limit = { ...LIMITS[algorithm], requestsPerUnit: 10, capacity: 10 };
    const { store, switched, usedInStore, passed } = open({ failing: DOWN });
    await store.take([groupOf([take('a', { hits: 5, limit })])]);
    await store.take([groupOf([take('a', { hits: 4, limit })])]);
    switched.failing = undefined;
    await store.take([groupOf([take('z', { limit })])]);
    await settled();
    expect(await usedInStore('a', limit)).toBe(5);
    expect(passed).toMatchObject({ local: 5, chargedBack: 5, lost: 0 });
  });

  test('it charges the available servers only, and the others when they are back', async () => {
    const there = new Set<string>();
    const isThere = ({ bucketKey }: { readonly bucketKey: string }) => there.has(bucketKey);
    const { store, switched, clock, usedInStore, passed } = open({ failing: DOWN, accountsMax: 5_000, isThere });
    const ask = (key: string) => store.take([groupOf([take(key, { limit: YEAR })])]);
    // More than are charged at once, and than are looked at at once.
    for (let i = 0; i < 1_100; i += 1) await ask(`away ${i}`);
    await ask('a');
    switched.failing = undefined;
    for (const key of ['a', 'away 7', 'away 1050']) {
      there.add(key);
      clock.nowMs += 1_000;
      store.chargeBack();
      for (let turn = 0; turn < 4; turn += 1) await settled();
      expect(await usedInStore(key, YEAR)).toBe(1);
    }
    expect(passed).toMatchObject({ chargedBack: 3, lost: 0 });
    expect(switched.asked.adjust).toBe(3);
    expect(await usedInStore('away 0', YEAR)).toBe(0);
  });

  test.each([1, 2, 3, 40])('it charges a calendar limit for the current window, after an outage over %i edges', async (edges) => {
    const { store, switched, clock, usedInStore, passed } = open({ failing: DOWN });
    const dayMs = 86_400_000;
    /** The day of now, between the one before and the one after it, as they are named to a store. */
    const limitNow = (capacity: number): BucketLimit => {
      const startUs = START_US + Math.floor(clock.nowMs / dayMs) * dayMs * 1_000;
      return {
        algorithm: 'fixed_window',
        windowUs: dayMs * 1_000,
        requestsPerUnit: capacity,
        capacity,
        edgesUs: [-1, 0, 1, 2].map((days) => startUs + days * dayMs * 1_000),
      };
    };
    const ask = async (hits: number) => decided((await store.take([groupOf([take('a', { hits, limit: limitNow(10) })])]))[0]).overLimit;
    await store.take([groupOf([take('a', { limit: limitNow(20) })])]);
    expect([await ask(6), await ask(3)]).toEqual([false, true]);
    for (let edge = 0; edge < edges; edge += 1) {
      clock.nowMs += dayMs;
      expect([await ask(5), await ask(3), await ask(1)]).toEqual([false, false, true]);
    }
    switched.failing = undefined;
    store.chargeBack();
    await settled();
    expect(await usedInStore('a', limitNow(20))).toBe(8);
    expect(passed).toMatchObject({ chargedBack: 8, lost: 0 });
  });

  test.each([-2, 2])('it logs calendar hits that it cannot charge as lost, with a clock %i days ahead', async (daysAhead) => {
    const { store, switched, passed } = open({ failing: DOWN, redisAheadUs: daysAhead * DAY_US });
    const limit: BucketLimit = {
      ...TEN_PER_SECOND,
      algorithm: 'fixed_window',
      windowUs: DAY_US,
      edgesUs: [-1, 0, 1, 2].map((days) => START_US + days * DAY_US),
    };
    await store.take([groupOf([take('a', { hits: 6, limit })])]);
    switched.failing = undefined;
    for (let again = 0; again < 2; again += 1) {
      store.chargeBack();
      await settled();
    }
    expect(passed).toMatchObject({ local: 6, chargedBack: 0, lost: 6 });
    expect(switched.asked.adjust).toBe(1);
  });

  test('it happens without calls too', async () => {
    const { store, ask, switched, usedInStore } = open({ failing: DOWN });
    await ask('a', 5);
    switched.failing = undefined;
    store.chargeBack();
    await settled();
    expect(await usedInStore('a')).toBe(5);
  });

  test('it omits hits that have refilled since', async () => {
    const { admittedOf, ask, switched, clock, usedInStore } = open({ failing: DOWN });
    expect(await admittedOf('a', 8)).toBe(8);
    clock.nowMs += 500;
    switched.failing = undefined;
    await ask('z', 1);
    await settled();
    expect(await usedInStore('a')).toBe(4);
  });

  test('it omits hits that the store counted itself', async () => {
    const { ask, admittedOf, switched, usedInStore } = open();
    await ask('a', 5);
    switched.failing = DOWN;
    expect(await admittedOf('a', 20)).toBe(4);
    switched.failing = undefined;
    await ask('z', 1);
    await settled();
    expect(await usedInStore('a')).toBe(9);
  });

  test('it charges a call with a lost answer twice at most', async () => {
    const { ask, switched, usedInStore } = open({ failing: { reason: 'timeout', runs: true, only: 'take' } });
    await ask('a', 3);
    switched.failing = undefined;
    await ask('z', 1);
    await settled();
    expect(await usedInStore('a')).toBe(6);
  });

  test('it charges once, even if the answer to the charge is lost', async () => {
    const { ask, switched, usedInStore, passed, clock } = open({ failing: DOWN });
    await ask('a', 3);
    switched.failing = { reason: 'timeout', runs: true, only: 'adjust' };
    await ask('z', 1);
    await settled();
    expect(passed).toMatchObject({ chargedBack: 0, lost: 3 });
    switched.failing = undefined;
    clock.nowMs += 1_000;
    await ask('z', 1);
    await settled();
    expect(switched.asked.adjust).toBe(2);
    expect(passed).toMatchObject({ chargedBack: 0, lost: 3 });
    clock.nowMs -= 1_000;
    expect(await usedInStore('a')).toBe(3);
  });

  test('it waits after a charge that surely did not run, and the used share stays used until then', async () => {
    const limit = { ...LIMITS.fixed_window, requestsPerUnit: 10, capacity: 10 };
    const { store, switched, usedInStore, passed, clock } = open({ failing: DOWN });
    const ask = async (key: string) => decided((await store.take([groupOf([take(key, { hits: 8, limit })])]))[0]);
    expect((await ask('a')).overLimit).toBe(false);
    switched.failing = { ...DOWN, only: 'adjust' };
    await ask('z');
    await settled();
    switched.failing = DOWN;
    expect((await ask('a')).overLimit).toBe(true);
    switched.failing = undefined;
    await ask('y');
    await settled();
    // After a charge that failed the next one waits.
    expect(switched.asked.adjust).toBe(1);
    clock.nowMs += 1_000;
    await ask('x');
    await settled();
    expect(passed).toMatchObject({ chargedBack: 8, lost: 0 });
    expect(await usedInStore('a', limit)).toBe(8);
  });

  test('it includes hits admitted while it runs', async () => {
    const { ask, switched, usedInStore, passed } = open({ failing: DOWN });
    await ask('a', 3);
    switched.failing = undefined;
    let release = (): void => undefined;
    const charged = ask('z', 1);
    switched.hold = new Promise((resolve) => (release = resolve));
    await charged;
    await settled();
    switched.failing = DOWN;
    const late = ask('a', 2);
    release();
    await late;
    switched.failing = undefined;
    switched.hold = undefined;
    await settled();
    await ask('z', 1);
    await settled();
    expect(await usedInStore('a')).toBe(5);
    expect(passed).toMatchObject({ chargedBack: 5 });
  });

  test.each([
    ['what passes', { key: 'b', hits: 2, isDenied: false, charged: 5, used: 5 }],
    ['what is denied', { key: 'a', hits: 4, isDenied: true, charged: 3, used: 9 }],
  ])(
    'it handles a store that is back for some buckets only: %s then keeps its count',
    async (_what, { key, hits, isDenied, charged, used }) => {
      const { store, switched, usedInStore, passed, clock } = open();
      const ask = (asked: string, askedHits: number) => groupOf([take(asked, { hits: askedHits, limit: YEAR })]);
      // Six are used, and of the four that are left three are this instance's.
      await store.take([ask('a', 6)]);
      switched.failing = DOWN;
      await store.take([ask(key, 3)]);
      switched.failing = { ...DOWN, only: 'take', keys: ['a', 'b'] };
      const [back, away] = await store.take([ask('z', 1), ask(key, hits)]);
      expect([decided(back).fallback, decided(away).fallback, decided(away).overLimit]).toEqual([undefined, true, isDenied]);
      await settled();
      switched.failing = undefined;
      clock.nowMs += 1_000;
      store.chargeBack();
      await settled();
      expect(passed).toMatchObject({ local: charged, chargedBack: charged, lost: 0 });
      expect(await usedInStore(key, YEAR)).toBe(used);
    },
  );

  test.each([
    ['was surely not run', DOWN],
    ['may have been run', { reason: 'timeout' } as const],
  ])('a bucket dropped during its charge: if it %s, its hits are logged as lost, and remembered', async (_what, failure) => {
    const { ask, admittedOf, store, switched, passed } = open({ failing: DOWN, accountsMax: 1 });
    expect(await admittedOf('a', 20)).toBe(8);
    let release = (): void => undefined;
    switched.hold = new Promise((resolve) => (release = resolve));
    switched.failing = { ...failure, only: 'adjust' };
    store.chargeBack();
    await settled();
    switched.hold = undefined;
    switched.failing = DOWN;
    await ask('b', 1);
    release();
    await settled();
    expect(passed).toMatchObject({ chargedBack: 0, lost: 8 });
    expect(await admittedOf('a', 20)).toBe(0);
  });

  test('the share is new at the next outage', async () => {
    const { admittedOf, ask, switched, clock } = open({ failing: DOWN });
    expect(await admittedOf('a', 20)).toBe(8);
    switched.failing = undefined;
    await ask('z', 1);
    await settled();
    await ask('a', 0);
    switched.failing = DOWN;
    // Two are left in the store, and a share of two is one.
    expect(await admittedOf('a', 20)).toBe(1);
    clock.nowMs += 1_000;
    switched.failing = undefined;
    await ask('z', 1);
    await settled();
    switched.failing = DOWN;
    expect(await admittedOf('a', 20)).toBe(8);
  });
});

test('the ledger does not keep the message that named its bucket', async () => {
  setFlagsFromString('--expose-gc');
  const gc = runInNewContext('gc') as () => void;
  const heapBytes = () => {
    gc();
    return process.memoryUsage().heapUsed;
  };
  const { ask } = open({ accountsMax: MESSAGES, failing: DOWN });
  await ask('before', 1);
  const before = heapBytes();
  for (let i = 0; i < MESSAGES; i += 1) {
    const message = Buffer.alloc(MESSAGE_BYTES, `a client of no fixed address, number ${i}, `).toString('latin1');
    // As keys are made: of parts of the message, put together.
    await ask(`1{domain}tb1|client=${message.slice(0, 40)}|of=${message.slice(40, 80)}`, 1);
  }
  expect(heapBytes() - before).toBeLessThan((MESSAGES * MESSAGE_BYTES) / 10);
});
