/** All shares together are 0.8 of the limit, exactly, and at least one hit each. */

import fc from 'fast-check';
import { ALGORITHMS } from '../../../src/domain/algorithm/algorithms';
import type { BucketLimit } from '../../../src/domain/bucket/take';
import { shareOfHits, toLocalShare } from '../../../src/state/resilience/local-share';
import { LIMITS, TEN_PER_SECOND } from '../../support/decisions/groups';
import { seeded } from '../../support/random/random';

test.each([
  [8_000, 8, 800],
  [10, 1, 8],
  [10, 2, 4],
  [10, 3, 2],
  [1, 50, 1],
  [0, 2, 0],
  [4_294_967_295, 1, 3_435_973_836],
])('the share of %i for %i instance(s) is %i', (capacity, instances, share) => {
  for (const algorithm of ALGORITHMS) {
    const limit: BucketLimit = { ...LIMITS[algorithm], requestsPerUnit: capacity, capacity };
    expect(toLocalShare(limit, { instances }).capacity).toBe(share);
  }
});

test('the share refills at 0.8 of the rate divided by the instances, exactly', () => {
  expect(toLocalShare(TEN_PER_SECOND, { instances: 3 })).toMatchObject({ requestsPerUnit: 40, windowUs: 15_000_000 });
});

test('the share of a limit of 0 keeps the window, which its answers name', () => {
  for (const algorithm of ALGORITHMS) {
    const limit: BucketLimit = { ...LIMITS[algorithm], requestsPerUnit: 0, capacity: 0 };
    expect(toLocalShare(limit, { instances: 3 })).toEqual(limit);
  }
});

test('a window that would exceed 100 years does not refill', () => {
  const year = { ...TEN_PER_SECOND, windowUs: 31_536_000_000_000 };
  expect(toLocalShare(year, { instances: 30 })).toMatchObject({ requestsPerUnit: 0, capacity: 1 });
});

test('all instances together hold at most the larger of 0.8 of the limit and one hit each', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 4_294_967_295 }), fc.integer({ min: 1, max: 1000 }), (hits, instances) => {
      expect(shareOfHits(hits, { instances }) * instances).toBeLessThanOrEqual(Math.max(hits === 0 ? 0 : instances, 0.8 * hits));
    }),
    seeded(2_000),
  );
});
