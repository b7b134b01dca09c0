/** Waits between tries are bounded and have jitter. */

import { Backoff, type BackoffOptions } from '../../../src/lib/backoff';

const FIRST_MS = 100;

function waits({ count = 8, ...options }: Partial<BackoffOptions> & { readonly count?: number } = {}): number[] {
  const backoff = new Backoff({ maxMs: 1000, factor: 2, ...options });
  return Array.from({ length: count }, () => backoff.nextMs(FIRST_MS));
}

test('each wait is longer than the one before, up to the bound', () => {
  expect(waits()).toEqual([100, 200, 400, 800, 1000, 1000, 1000, 1000]);
  expect(waits({ factor: 1 })).toEqual([100, 100, 100, 100, 100, 100, 100, 100]);
});

test('jitter draws the wait from its upper half', () => {
  expect(waits({ count: 6, random: () => 0 })).toEqual([50, 100, 200, 400, 500, 500]);
  expect(waits({ count: 6, random: () => 1 - 2 ** -53 }).map(Math.round)).toEqual([100, 200, 400, 800, 1000, 1000]);
});

test('a success resets the waits, and another kind of failure has its own', () => {
  const backoff = new Backoff({ maxMs: 1000, factor: 2 });
  expect([backoff.nextMs(100), backoff.nextMs(100), backoff.nextMs(30)]).toEqual([100, 200, 120]);
  backoff.reset();
  expect(backoff.nextMs(100)).toBe(100);
});

test('years of failures do not overflow the wait', () => {
  const backoff = new Backoff({ maxMs: 60_000, factor: 10, random: Math.random });
  const all = Array.from({ length: 5000 }, () => backoff.nextMs(3000));
  expect(Math.min(...all)).toBeGreaterThanOrEqual(1500);
  expect(Math.max(...all)).toBeLessThanOrEqual(60_000);
});
