/** Waits grow to a bound and no further, and are spread. */

import { Backoff } from '../../../src/xds/backoff';

const FIRST_MS = 100;

function waits({ jitter = false, random = (): number => 0, factor = 2, count = 8 } = {}): number[] {
  const backoff = new Backoff({ maxMs: 1000, factor, jitter, random });
  return Array.from({ length: count }, () => backoff.nextMs(FIRST_MS));
}

test('each is longer than the one before, up to the bound', () => {
  expect(waits()).toEqual([100, 200, 400, 800, 1000, 1000, 1000, 1000]);
  expect(waits({ factor: 1 })).toEqual([100, 100, 100, 100, 100, 100, 100, 100]);
});

test('with jitter it is drawn from the upper half', () => {
  expect(waits({ jitter: true, count: 6 })).toEqual([50, 100, 200, 400, 500, 500]);
  expect(waits({ jitter: true, count: 6, random: () => 1 - 2 ** -53 }).map(Math.round)).toEqual([100, 200, 400, 800, 1000, 1000]);
});

test('after a success it begins anew; another kind of failure begins elsewhere', () => {
  const backoff = new Backoff({ maxMs: 1000, factor: 2, jitter: false, random: () => 0 });
  expect([backoff.nextMs(100), backoff.nextMs(100), backoff.nextMs(30)]).toEqual([100, 200, 120]);
  backoff.reset();
  expect(backoff.nextMs(100)).toBe(100);
});

test('a server that is away for years does not make it overflow', () => {
  const backoff = new Backoff({ maxMs: 60_000, factor: 10, jitter: true, random: Math.random });
  const all = Array.from({ length: 5000 }, () => backoff.nextMs(3000));
  expect(Math.min(...all)).toBeGreaterThanOrEqual(1500);
  expect(Math.max(...all)).toBeLessThanOrEqual(60_000);
});
