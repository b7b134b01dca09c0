/** Leases admit frequent requests without the store, end before their window, and are neither used nor given back twice. */

import type { BucketLimit, Group, Take } from '../../../src/domain/bucket/take';
import { UsageSnapshot } from '../../../src/state/resilience/usage-snapshot';
import { LeaseStore, type LeaseEvent } from '../../../src/state/resilience/lease-store';
import { MemoryStore } from '../../../src/state/store/memory/memory-store';
import type { Store } from '../../../src/state/store/port/store';
import type { Leases } from '../../../src/domain/rule/limit';
import { groupOf, take as anyTake } from '../../support/decisions/groups';
import { decided, hitsOf } from '../../support/decisions/outcomes';
import { SwitchedStore } from '../../support/redis/switched-store';

const WINDOW_MS = 60_000;
/** The start of a window. */
const START_US = 1_800_000_000_000_000;
const LIMIT: BucketLimit = { algorithm: 'fixed_window', windowUs: WINDOW_MS * 1_000, requestsPerUnit: 6_000, capacity: 6_000 };

interface OpenOptions {
  readonly leases?: Leases;
  readonly instances?: number;
  /** Microseconds of Redis's clock in a millisecond of ours. */
  readonly usOfMs?: number;
}

function open({ leases = 'auto', instances = 1, usOfMs = 1_000 }: OpenOptions = {}) {
  const clock = { nowMs: 0 };
  const inner = new SwitchedStore(new MemoryStore({ nowUs: () => START_US + Math.floor(clock.nowMs * usOfMs), bucketsMax: 10_000 }));
  const hits: Record<LeaseEvent, number> = { charged: 0, used: 0, givenBack: 0, lost: 0 };
  // A store in memory ends with its process, and Redis does not.
  const kept: Store = {
    take: (groups) => inner.take(groups),
    adjust: (adjustments) => inner.adjust(adjustments),
    close: () => Promise.resolve(),
  };
  const lastKnown = new UsageSnapshot({ nowMs: () => clock.nowMs, bucketsMax: 100 });
  const store = new LeaseStore(kept, {
    lastKnown,
    leases,
    instances: () => instances,
    nowMs: () => clock.nowMs,
    onHits: (event, count) => (hits[event] += count),
  });
  const ask = async (group: Group) => decided((await store.take([group]))[0]);
  const one = (parts: Partial<Take> = {}) => ask(groupOf([take('a', parts)]));
  /** Asks for one hit every `everyMs`; resolves to the number of requests admitted without the store. */
  const run = async ({ count, everyMs = 100, parts = {} }: RunInput) => {
    let leased = 0;
    for (let i = 0; i < count; i += 1) {
      clock.nowMs += everyMs;
      if ((await one(parts)).leased === true) leased += 1;
      await settled();
    }
    return leased;
  };
  /** Hits used as the store counts them. */
  const used = async (key = 'a', limit = LIMIT) => {
    const { verdicts } = decided((await inner.take([groupOf([take(key, { limit, hits: 0, peek: true, mode: 'shadow' })])]))[0]);
    return limit.capacity - verdicts[0]!.remaining;
  };
  const outstanding = () => hits.charged - hits.used - hits.givenBack - hits.lost;
  return { store, inner, clock, hits, lastKnown, ask, one, run, used, outstanding };
}

interface RunInput {
  readonly count: number;
  readonly everyMs?: number;
  readonly parts?: Partial<Take>;
}

function take(key: string, parts: Partial<Take> = {}): Take {
  return anyTake(key, { limit: LIMIT, ...parts });
}

/** A charge ahead answers in a turn of its own. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

test('ten requests a second ask the store about once a second', async () => {
  const { inner, run, hits, outstanding, used } = open();
  await run({ count: 20 });
  const before = inner.asked.take;
  expect(await run({ count: 100 })).toBe(100);
  expect(inner.asked.take - before).toBeLessThanOrEqual(15);
  expect(hits.lost).toBe(0);
  expect(await used()).toBe(120 + outstanding());
});

test('an answer from a lease shows what the bucket and the lease have left, and the end of the window', async () => {
  const { clock, run, one } = open();
  await run({ count: 20 });
  clock.nowMs += 100;
  const { leased, overLimit, verdicts, nowUs } = await one();
  expect({ leased, overLimit, verdicts, nowUs }).toEqual({
    leased: true,
    overLimit: false,
    verdicts: [{ fits: true, remaining: 6_000 - 21, retryAfterUs: 0, resetAfterUs: (WINDOW_MS - 2_100) * 1_000 }],
    nowUs: START_US + 2_100_000,
  });
});

test.each<[string, OpenOptions, Partial<Take>]>([
  ['leases are off', { leases: 'off' }, {}],
  ['leases of the limit are off', {}, { limit: { ...LIMIT, leases: 'off' } }],
  ['the window is shorter than ten seconds', {}, { limit: { ...LIMIT, windowUs: 9_999_000 } }],
  ['the bucket refills evenly', {}, { limit: { ...LIMIT, algorithm: 'token_bucket' } }],
  ['the take only counts', {}, { mode: 'shadow' }],
  ['the take is a quota', {}, { mode: 'quota' }],
  ['the take is a check', {}, { hits: 0 }],
  ['the take is a refund', {}, { hits: -1 }],
  ['the take is a usage report', {}, { overdraftMax: 5 }],
  ['the limit is near', {}, { limit: { ...LIMIT, capacity: 13 } }],
])('nothing is leased if %s', async (_, options, parts) => {
  const { run, hits } = open(options);
  expect(await run({ count: 20, parts })).toBe(0);
  expect(hits.charged).toBe(0);
});

test('what charges ahead show of a bucket is known when the store goes away', async () => {
  const { run, used, lastKnown } = open();
  await run({ count: 500, everyMs: 10 });
  const inStore = await used();
  expect(inStore).toBeGreaterThan(500);
  const known = LIMIT.capacity - lastKnown.remaining('a', LIMIT);
  // Nothing is remembered of a bucket that is hardly used.
  expect(known).toBeGreaterThan(LIMIT.capacity / 16);
  expect(inStore - known).toBeLessThanOrEqual(10);
});

test('the hits of a lease are not taken for those of the store', async () => {
  const { ask, run, used, lastKnown } = open();
  await run({ count: 500, everyMs: 10 });
  const before = lastKnown.remaining('a', LIMIT);
  const both = await ask(groupOf([take('a'), take('b', { limit: { ...LIMIT, capacity: 10, requestsPerUnit: 10 } })]));
  expect(both.verdicts).toHaveLength(2);
  expect(lastKnown.remaining('a', LIMIT)).toBe(before);
  expect(before).toBeLessThanOrEqual(LIMIT.capacity - (await used()) + 10);
  expect(lastKnown.remaining('b', { ...LIMIT, capacity: 10, requestsPerUnit: 10 })).toBe(9);
});

test('a limit that says so has leases although the setting is off', async () => {
  const { run } = open({ leases: 'off' });
  expect(await run({ count: 30, parts: { limit: { ...LIMIT, leases: 'auto' } } })).toBeGreaterThan(10);
});

test('three requests a second have no leases, because these would cost as many commands', async () => {
  const { run } = open();
  expect(await run({ count: 60, everyMs: 334 })).toBe(0);
});

test('all instances together lease at most half of what a bucket has left', async () => {
  const limit = { ...LIMIT, capacity: 100 };
  const { run, hits } = open({ instances: 10 });
  await run({ count: 12, parts: { limit } });
  expect(hits.charged).toBeLessThanOrEqual(100 / 20);
});

test.each([1_000, 1_083])('a lease ends before its window where Redis counts %i us in a millisecond', async (usOfMs) => {
  const { clock, run, one, used } = open({ usOfMs });
  // Redis is in the window until then; the reply that the lease knows it from is at most two seconds old.
  const endMs = (WINDOW_MS * 1_000) / usOfMs;
  await run({ count: 20 });
  await run({ count: Math.floor(endMs / 100) - 40 });
  clock.nowMs = endMs - 300;
  expect((await one()).leased).toBe(true);
  clock.nowMs = endMs;
  expect((await one()).leased).toBeUndefined();
  expect(await used()).toBe(1);
});

test('hits of a lease end with their window', async () => {
  const { clock, run, one, hits, outstanding, used } = open();
  await run({ count: 25 });
  const unused = outstanding();
  expect(unused).toBeGreaterThan(0);
  clock.nowMs = WINDOW_MS;
  await one();
  await settled();
  expect([hits.lost, await used()]).toEqual([unused, 1 + outstanding()]);
});

test('a hit that a denied request held past the end of its window is not used in the next one', async () => {
  const { inner, clock, run, ask, one, hits, outstanding, used } = open();
  await run({ count: 25 });
  const unused = outstanding();
  let release: () => void = () => undefined;
  inner.hold = new Promise((resolve) => (release = resolve));
  const held = ask(groupOf([take('full', { limit: { ...LIMIT, requestsPerUnit: 0, capacity: 0 } }), take('a')]));
  inner.hold = undefined;
  clock.nowMs = WINDOW_MS;
  await one();
  await settled();
  release();
  expect([(await held).overLimit, hits.lost, await used()]).toEqual([true, unused, 1 + outstanding()]);
});

test('a request that another limit denies leaves its hits in the lease', async () => {
  const { inner, clock, run, ask, hits, used } = open();
  await run({ count: 20 });
  const tight: BucketLimit = { ...LIMIT, algorithm: 'token_bucket', requestsPerUnit: 1, capacity: 1 };
  const both = groupOf([take('b', { limit: tight }), take('a')]);
  clock.nowMs += 1;
  const before = hits.used;
  const admitted = await ask(both);
  expect([admitted.overLimit, hits.used - before]).toEqual([false, 1]);
  expect(admitted.verdicts.map(({ remaining }) => remaining)).toEqual([0, 6_000 - 21]);
  const denied = await ask(both);
  expect([denied.overLimit, hits.used - before]).toEqual([true, 1]);
  expect(denied.verdicts.map(({ fits, denies, remaining }) => [fits, denies, remaining])).toEqual([
    [false, true, 0],
    [true, undefined, 6_000 - 21],
  ]);
  inner.failing = { reason: 'timeout' };
  await expect(ask(both)).rejects.toThrow();
  expect([hits.used - before, hits.lost]).toEqual([1, 0]);
  inner.failing = undefined;
  expect(await used('b', tight)).toBe(1);
});

test('a request from leases is admitted although the store fails, and others in its call fail', async () => {
  const { store, inner, run } = open();
  await run({ count: 20 });
  inner.failing = { reason: 'connection' };
  const [leased, failed] = await store.take([groupOf([take('a')]), groupOf([take('c')])]);
  expect(decided(leased).leased).toBe(true);
  expect(failed).toBeInstanceOf(Error);
});

test('a charge whose reply is lost is never used', async () => {
  const { inner, clock, one, run, hits, used } = open();
  await run({ count: 10 });
  inner.failing = { reason: 'timeout', runs: true };
  clock.nowMs += 100;
  await expect(one()).rejects.toThrow();
  await settled();
  const { charged, lost } = hits;
  expect([charged > 0, lost]).toEqual([true, charged]);
  inner.failing = undefined;
  // The request itself ran too.
  expect(await used()).toBe(11 + charged);
});

test('a charge that certainly did not run loses nothing', async () => {
  const { inner, clock, one, run, hits } = open();
  await run({ count: 10 });
  inner.failing = { reason: 'connection', mayHaveRun: false };
  clock.nowMs += 100;
  await expect(one()).rejects.toThrow();
  await settled();
  expect(hits).toEqual({ charged: 0, used: 0, givenBack: 0, lost: 0 });
});

test('while the store fails nothing is charged ahead, and afterwards leases go on', async () => {
  const { inner, clock, one, run } = open();
  await run({ count: 10 });
  inner.failing = { reason: 'connection', mayHaveRun: false };
  const before = inner.asked.take;
  for (let i = 0; i < 10; i += 1) {
    clock.nowMs += 100;
    await expect(one()).rejects.toThrow();
    await settled();
  }
  // One charge beside the first request.
  expect(inner.asked.take - before).toBe(11);
  inner.failing = undefined;
  expect(await run({ count: 20 })).toBeGreaterThan(10);
});

test('unused hits go back once, when the key is no longer asked for', async () => {
  const { store, inner, clock, run, hits, used, outstanding } = open();
  await run({ count: 25 });
  const unused = outstanding();
  expect(unused).toBeGreaterThan(0);
  clock.nowMs += 1_000;
  await store.sweep();
  expect(hits.givenBack).toBe(0);
  clock.nowMs += 1_100;
  await Promise.all([store.sweep(), store.sweep()]);
  expect([hits.givenBack, hits.lost, inner.asked.adjust]).toEqual([unused, 0, 1]);
  expect(await used()).toBe(25);
});

test('unused hits whose return is not answered are lost, and are not returned again', async () => {
  const { store, inner, clock, run, hits, used, outstanding } = open();
  await run({ count: 25 });
  const unused = outstanding();
  clock.nowMs += 3_000;
  inner.failing = { reason: 'timeout', runs: true };
  await store.sweep();
  inner.failing = undefined;
  await store.sweep();
  expect([hits.lost, hits.givenBack, inner.asked.adjust, await used()]).toEqual([unused, 0, 1, 25]);
});

test('unused hits go back when the process ends', async () => {
  const { store, run, hits, used } = open();
  await run({ count: 25 });
  await store.close();
  expect([hits.charged - hits.used, await used()]).toEqual([hits.givenBack, 25]);
});

test('a new connection loses all leases, because the store may have lost their charges', async () => {
  const { store, run, one, hits, outstanding, used } = open();
  await run({ count: 25 });
  const unused = outstanding();
  store.clear();
  expect((await one()).leased).toBeUndefined();
  await store.close();
  expect([hits.lost, hits.givenBack, await used()]).toEqual([unused, 0, 26 + unused]);
});

test('a bucket that is reset loses its lease', async () => {
  const { store, run, one, hits, outstanding } = open();
  await run({ count: 25 });
  const unused = outstanding();
  store.forget(['a', 'unknown']);
  expect([(await one()).leased, hits.lost]).toEqual([undefined, unused]);
});

test('under a changed limit the store decides, and the hits of the lease go back', async () => {
  const { run, one, hits, outstanding, used } = open();
  await run({ count: 25 });
  const unused = outstanding();
  const smaller = { ...LIMIT, requestsPerUnit: 26, capacity: 26 };
  await one({ limit: smaller });
  await settled();
  expect([hits.givenBack, await used()]).toEqual([unused, 26]);
});

test('adjustments pass through', async () => {
  const { store, used } = open();
  const [applied] = await store.adjust([{ bucketKey: 'a', limit: LIMIT, hits: 3, takenAtUs: 0, usedBefore: 0 }]);
  expect([hitsOf(applied), await used()]).toEqual([3, 3]);
});
