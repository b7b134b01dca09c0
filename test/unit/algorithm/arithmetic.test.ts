/** Every rate up to 2^53 - 1 with every unit is exact to one hit. */

import fc from 'fast-check';
import { seeded } from '../../support/random/random';
import { DURATION_US_MAX, multiplyDivide, refill, timeToRefill } from '../../../src/domain/algorithm/arithmetic';

const UINT32 = 2 ** 32 - 1;
const MAX = Number.MAX_SAFE_INTEGER;
const windowUs = fc.oneof(
  fc.constantFrom(1e6, 6e7, 3.6e9, 8.64e10, 6.048e11, 2.592e12, 3.1536e13),
  fc.integer({ min: 1, max: 3_153_600_000 }).map((seconds) => seconds * 1_000_000),
);
const requests = fc.oneof(
  fc.constantFrom(1, 3, 7, 1000, 300_000, UINT32, UINT32 + 1, MAX - 1, MAX),
  fc.integer({ min: 1, max: UINT32 }),
  fc.integer({ min: 1, max: MAX }),
);

describe('multiplyDivide', () => {
  test.each([
    { a: 0, b: 5, m: 7, why: 'nothing times anything' },
    { a: 6, b: 1, m: 7, why: 'less than one' },
    { a: 31_535_999_999_999, b: UINT32, m: 31_536_000_000_000, why: 'a year in µs times the largest rate' },
    { a: 3_153_599_999_999_999, b: UINT32, m: 3_153_600_000_000_000, why: 'a hundred years times the largest rate' },
    { a: UINT32 - 2, b: 2 ** 39, m: UINT32, why: 'a sum of hits above uint32' },
    { a: 3_153_599_999_999_999, b: MAX, m: 3_153_600_000_000_000, why: 'a hundred years times the largest limit' },
    { a: MAX - 1, b: 3_153_599_999_999_999, m: MAX, why: 'the largest limit times a hundred years' },
    { a: MAX - 1, b: MAX, m: MAX, why: 'the largest limit times itself' },
  ])('$why', ({ a, b, m }) => {
    expectExact({ a, b, m });
  });

  test('multiplyDivide is exact for every a < m up to 100 years and every number up to 2^53 - 1', () => {
    fc.assert(
      fc.property(windowUs, requests, fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }), (m, b, part) => {
        expectExact({ a: Math.min(Math.floor(m * part), m - 1), b, m });
      }),
      seeded(5_000),
    );
  });

  function expectExact({ a, b, m }: { a: number; b: number; m: number }): void {
    const { quotient, remainder } = multiplyDivide(a, b, m);
    const product = BigInt(a) * BigInt(b);
    expect(BigInt(quotient)).toBe(product / BigInt(m));
    expect(BigInt(remainder)).toBe(product % BigInt(m));
  }
});

describe('refill and timeToRefill', () => {
  test('timeToRefill is the shortest time after which refill gives the hits', () => {
    fc.assert(
      fc.property(windowUs, requests, requests, fc.nat(), (windowUs_, requests_, hits, seed) => {
        const rest = seed % windowUs_;
        const rate = { rest, requests: requests_, windowUs: windowUs_ };
        const afterUs = timeToRefill({ hits, ...rate });
        const exact = (BigInt(hits) * BigInt(windowUs_) - BigInt(rest) + BigInt(requests_) - 1n) / BigInt(requests_);
        if (BigInt(hits) * BigInt(windowUs_) > BigInt(DURATION_US_MAX) * BigInt(requests_)) {
          expect(afterUs).toBe(DURATION_US_MAX);
          return;
        }
        expect(BigInt(afterUs)).toBe(exact);
        expect(refill({ elapsedUs: afterUs, ...rate }).hits).toBeGreaterThanOrEqual(hits);
        expect(refill({ elapsedUs: afterUs - 1, ...rate }).hits).toBeLessThan(hits);
      }),
      seeded(5_000),
    );
  });

  test('refill in several steps gives what it gives in one', () => {
    fc.assert(
      fc.property(windowUs, requests, fc.array(fc.nat(10_000_000), { minLength: 1, maxLength: 50 }), (window, rate, steps) => {
        let hits = 0;
        let rest = 0;
        for (const elapsedUs of steps) {
          const step = refill({ elapsedUs, rest, requests: rate, windowUs: window });
          hits += step.hits;
          rest = step.rest;
        }
        const elapsedUs = steps.reduce((sum, step) => sum + step, 0);
        const inOne = refill({ elapsedUs, rest: 0, requests: rate, windowUs: window });
        expect(rest).toBe(inOne.rest);
        // Above it, hits lose digits.
        expect(Math.min(hits, MAX)).toBe(Math.min(inOne.hits, MAX));
      }),
      seeded(2_000),
    );
  });

  test('a rate of 0 refills nothing, and its wait is the window', () => {
    expect(refill({ elapsedUs: 1e15, rest: 0, requests: 0, windowUs: 1e6 })).toEqual({ hits: 0, rest: 0 });
    expect(timeToRefill({ hits: 1, rest: 0, requests: 0, windowUs: 1e6 })).toBe(1e6);
  });
});
