/** The snapshot of usage keeps what each share needs, so all shares fit into the limit. */

import type { BucketLimit, Verdict } from '../../../src/domain/bucket/take';
import { UsageSnapshot } from '../../../src/state/resilience/usage-snapshot';
import { TEN_PER_SECOND, THREE_PER_MINUTE } from '../../support/decisions/groups';
import { randomFrom, seededInFull } from '../../support/random/random';

function verdict(remaining: number, resetAfterUs: number): Verdict {
  return { fits: true, remaining, retryAfterUs: 0, resetAfterUs };
}

function open({ bucketsMax = 10 } = {}) {
  const clock = { nowMs: 1_000 };
  return { clock, lastKnown: new UsageSnapshot({ nowMs: () => clock.nowMs, bucketsMax }) };
}

test('an unknown bucket is full', () => {
  expect(open().lastKnown.remaining('a', TEN_PER_SECOND)).toBe(10);
});

test.each<[string, BucketLimit, readonly (readonly [number, number])[]]>([
  [
    'a bucket drains evenly',
    TEN_PER_SECOND,
    [
      [0, 2],
      [500, 6],
      [501, 6],
      [999, 9],
      [1_000, 10],
    ],
  ],
  [
    'a window is used up until it ends',
    { ...THREE_PER_MINUTE, capacity: 10 },
    [
      [0, 2],
      [999, 2],
      [1_000, 10],
    ],
  ],
])('%s', (_name, limit, expected) => {
  const { clock, lastKnown } = open();
  lastKnown.record('a', limit, verdict(2, 1_000_000));
  for (const [afterMs, remaining] of expected) {
    clock.nowMs = 1_000 + afterMs;
    expect([afterMs, lastKnown.remaining('a', limit)]).toEqual([afterMs, remaining]);
  }
});

test('the last report counts, and a smaller limit may have nothing left', () => {
  const { lastKnown } = open();
  lastKnown.record('a', TEN_PER_SECOND, verdict(2, 1_000_000));
  lastKnown.record('a', TEN_PER_SECOND, verdict(1, 1_000_000));
  expect(lastKnown.remaining('a', TEN_PER_SECOND)).toBe(1);
  expect(lastKnown.remaining('a', { ...TEN_PER_SECOND, capacity: 5 })).toBe(0);
  lastKnown.record('a', TEN_PER_SECOND, verdict(10, 0));
  expect(lastKnown.remaining('a', TEN_PER_SECOND)).toBe(10);
});

test('a smaller limit on the same bucket says nothing about use beyond it', () => {
  const { lastKnown } = open();
  const small = { ...TEN_PER_SECOND, capacity: 3 };
  lastKnown.record('a', TEN_PER_SECOND, verdict(1, 1_000_000));
  lastKnown.record('a', small, verdict(0, 300_000));
  lastKnown.record('a', { ...small, capacity: 0 }, verdict(0, 300_000));
  expect(lastKnown.remaining('a', TEN_PER_SECOND)).toBe(1);
  lastKnown.record('a', small, verdict(1, 200_000));
  expect(lastKnown.remaining('a', TEN_PER_SECOND)).toBe(8);
});

test('hits admitted elsewhere are added for the reported time', () => {
  const { clock, lastKnown } = open();
  lastKnown.charge({ bucketKey: 'a', limit: TEN_PER_SECOND, hits: 0, resetAfterUs: 1_000_000 });
  expect(lastKnown.remaining('a', TEN_PER_SECOND)).toBe(10);
  lastKnown.record('a', TEN_PER_SECOND, verdict(8, 200_000));
  lastKnown.charge({ bucketKey: 'a', limit: TEN_PER_SECOND, hits: 4, resetAfterUs: 1_200_000 });
  expect(lastKnown.remaining('a', TEN_PER_SECOND)).toBe(4);
  clock.nowMs += 600;
  expect(lastKnown.remaining('a', TEN_PER_SECOND)).toBe(7);
  lastKnown.charge({ bucketKey: 'a', limit: TEN_PER_SECOND, hits: 100, resetAfterUs: Infinity });
  clock.nowMs += 1_000_000;
  expect(lastKnown.remaining('a', TEN_PER_SECOND)).toBe(0);
});

test('a bucket used less than a sixteenth is not remembered: with all shares it still fits', () => {
  const { lastKnown } = open();
  const limit = { ...TEN_PER_SECOND, requestsPerUnit: 160, capacity: 160 };
  lastKnown.record('little', limit, verdict(151, 60_000));
  lastKnown.record('more', limit, verdict(150, 60_000));
  expect(['little', 'more'].map((key) => lastKnown.remaining(key, limit))).toEqual([160, 150]);
  // Four fifths of a limit are the shares of all instances together.
  expect(160 - 151 + 0.8 * lastKnown.remaining('little', limit)).toBeLessThanOrEqual(160);
});

test('hits given back are recorded, even if too little is used to remember the bucket', () => {
  const { clock, lastKnown } = open();
  const limit = { ...TEN_PER_SECOND, requestsPerUnit: 160, capacity: 160, windowUs: 60_000_000 };
  lastKnown.record('given-back', limit, verdict(0, 60_000_000));
  lastKnown.record('other', limit, verdict(0, 60_000_000));
  clock.nowMs += 1_000;
  lastKnown.record('given-back', limit, verdict(159, 375_000));
  expect(['given-back', 'other'].map((key) => lastKnown.remaining(key, limit))).toEqual([160, 2]);
});

test('each bucket is forgotten once it is nearly full, whatever else is remembered', () => {
  const random = randomFrom(seededInFull(2_000));
  const { lastKnown } = open({ bucketsMax: 4_096 });
  const limit = { ...TEN_PER_SECOND, requestsPerUnit: 160, capacity: 160, windowUs: 60_000_000 };
  for (let step = 0; step < 2_000; step += 1) {
    const key = `${'k'.repeat(random(5))}${random(200)}`;
    const remaining = random(2) === 0 ? 151 + random(10) : random(151);
    lastKnown.record(key, limit, verdict(remaining, (160 - remaining) * 375_000));
    if (lastKnown.remaining(key, limit) !== (remaining > 150 ? 160 : remaining))
      throw new Error(`step ${step}: ${key} has ${remaining} left, and is remembered to have ${lastKnown.remaining(key, limit)}`);
  }
});

test('beyond its bound the least recently reported bucket is forgotten', () => {
  const { lastKnown } = open({ bucketsMax: 2 });
  for (const key of ['a', 'b', 'a', 'c', 'd']) lastKnown.record(key, TEN_PER_SECOND, verdict(2, 1_000_000));
  expect(['a', 'b', 'c', 'd'].map((key) => lastKnown.remaining(key, TEN_PER_SECOND))).toEqual([10, 10, 2, 2]);
});
