/** A count of the sketch is never too low, and too high by at most N / m, on any stream. */

import { hashOfKey, SpaceSaving } from '../../../src/state/top/space-saving';
import { randomFrom, seeded, type Random } from '../../support/random/random';
import { zipf } from './zipf';

interface Hit {
  readonly key: string;
  readonly hits: number;
}

function feed(sketch: SpaceSaving, { key, hits }: Hit): void {
  const seen = { key, hash: hashOfKey(key) };
  if (sketch.count(seen, 0, hits) < 0 && sketch.filter(seen, hits)) sketch.enter(seen, hits);
}

function exactCounts(stream: readonly Hit[]): Map<string, number> {
  const exact = new Map<string, number>();
  for (const { key, hits } of stream) exact.set(key, (exact.get(key) ?? 0) + hits);
  return exact;
}

/** Checks every promise of the head of the class. Returns the largest error. */
function expectBounds(sketch: SpaceSaving, stream: readonly Hit[]): number {
  const exact = exactCounts(stream);
  const total = stream.reduce((sum, { hits }) => sum + hits, 0);
  const bound = total / sketch.capacity;
  expect(sketch.total).toBe(total);
  expect(sketch.unlisted).toBeLessThanOrEqual(bound);
  expect(new Set(sketch.keys).size).toBe(sketch.size);
  let worst = 0;
  for (const [counter, key] of sketch.keys.entries()) {
    const [count, error, real] = [sketch.counts[counter]!, sketch.errors[counter]!, exact.get(key) ?? 0];
    // One check of all, because `expect` for each of a million keys takes seconds.
    if (count < real || count - error > real || error > bound) throw new Error(`${key}: ${count} - ${error} is not ${real}`);
    worst = Math.max(worst, count - real);
  }
  const listed = new Set(sketch.keys);
  for (const [key, real] of exact)
    if (!listed.has(key) && real > sketch.unlisted) throw new Error(`${key} has ${real} hits and is not listed`);
  return worst;
}

function run(stream: readonly Hit[], capacity: number): SpaceSaving {
  const sketch = new SpaceSaving(capacity);
  for (const hit of stream) feed(sketch, hit);
  return sketch;
}

function streamOf(length: number, keyOf: (i: number) => string | number): Hit[] {
  return Array.from({ length }, (_, i) => ({ key: String(keyOf(i)), hits: 1 }));
}

test.each([0.6, 0.8, 1, 1.2, 1.5, 2])('a Zipf stream with exponent %d', (exponent) => {
  const random = randomFrom();
  const draw = zipf({ exponent, keys: 20_000, random });
  const stream = streamOf(100_000, draw);
  const sketch = run(stream, 256);
  expectBounds(sketch, stream);
  const frequent = [...exactCounts(stream)].filter(([, count]) => count > stream.length / 256).map(([key]) => key);
  expect(sketch.keys).toEqual(expect.arrayContaining(frequent));
});

test('the filter keeps errors far below the bound', () => {
  const random = randomFrom();
  const draw = zipf({ exponent: 1.2, keys: 20_000, random });
  const stream = streamOf(100_000, draw);
  const sketch = run(stream, 256);
  const counts = exactCounts(stream);
  const top = [...counts].sort(([, a], [, b]) => b - a).slice(0, 10);
  for (const [key, count] of top) expect(sketch.counts[sketch.keys.indexOf(key)]).toBe(count);
});

const ADVERSARIES: readonly (readonly [name: string, keyOf: (i: number, random: Random) => string | number])[] = [
  ['all keys are distinct', (i) => i],
  ['one key more than counters, in turn', (i) => i % 65],
  ['twice as many keys as counters, in turn', (i) => i % 128],
  ['a frequent key, and one-hit wonders that evict', (i) => (i % 3 === 0 ? 'frequent' : i)],
  ['a key that begins when all counters are full', (i) => (i > 10_000 && i % 2 === 0 ? 'late' : i)],
  ['a flood after frequent keys', (i) => (i < 10_000 ? i % 16 : i)],
  ['a flood before frequent keys', (i) => (i < 10_000 ? i : i % 16)],
  ['keys that come in pairs', (i) => Math.floor(i / 2)],
  ['the same key', () => 'same'],
  ['random keys of a few', (_, random) => random(200)],
];

test.each(ADVERSARIES)('%s', (_, keyOf) => {
  const random = randomFrom();
  const stream = streamOf(20_000, (i) => keyOf(i, random));
  expectBounds(run(stream, 64), stream);
});

test('hits have weights, and any capacity holds the bounds', () => {
  const { numRuns, seed } = seeded(400);
  const random = randomFrom({ seed });
  for (let i = 0; i < numRuns; i += 1) {
    const keys = 1 + random(80);
    const stream = Array.from({ length: random(600) }, () => ({
      key: String(random(keys)),
      hits: random(4) === 0 ? 1 + random(1_000) : 1,
    }));
    expectBounds(run(stream, 1 + random(40)), stream);
  }
});

test('a hint is only a hint', () => {
  const sketch = new SpaceSaving(4);
  const keys = ['a', 'b', 'c'].map((key) => ({ key, hash: hashOfKey(key) }));
  for (const key of keys) sketch.enter(key, 1);
  expect(sketch.count(keys[1]!, 0, 5)).toBe(1);
  expect(sketch.count(keys[1]!, 1, 5)).toBe(1);
  expect(sketch.count({ key: 'd', hash: hashOfKey('d') }, 1, 5)).toBe(-1);
  expect(sketch.counts[1]).toBe(11);
});

test('nothing of the last period is left', () => {
  const stream = streamOf(1_000, (i) => i % 100);
  const sketch = run(stream, 32);
  sketch.clear();
  expect(sketch.size).toBe(0);
  const second = streamOf(500, (i) => `second ${i % 50}`);
  for (const hit of second) feed(sketch, hit);
  expectBounds(sketch, second);
});
