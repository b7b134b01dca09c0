/** Eviction takes a bucket of the cheapest rank that exceeds its part, and never a costlier one. */

import {
  forgetRank,
  HALF_USED,
  OVERDRAWN,
  RANKS,
  rankToForget,
  SLIGHTLY_USED,
  USED_UP,
  USED_UP_FOR_SHORT,
} from '../../../src/domain/bucket/forget-rank';
import { randomFrom, seededInFull } from '../../support/random/random';

const MINUTE_US = 60_000_000;
const SEQUENCES = 2_000;

test.each([
  [10, 10, 0, SLIGHTLY_USED],
  [6, 10, MINUTE_US, SLIGHTLY_USED],
  [5, 10, MINUTE_US, HALF_USED],
  [1, 10, 365 * 1_440 * MINUTE_US, HALF_USED],
  [0, 10, MINUTE_US, USED_UP_FOR_SHORT],
  [0, 1, MINUTE_US + 1, USED_UP],
  [-1, 10, 1, OVERDRAWN],
  [-3, 0, 1, OVERDRAWN],
  // A limit of 0, which nobody has used.
  [0, 0, MINUTE_US + 1, SLIGHTLY_USED],
])('%i hits left of %i, full again after %i us, have rank %i', (room, capacity, resetAfterUs, rank) => {
  expect(forgetRank(room, capacity, resetAfterUs)).toBe(rank);
});

test('eviction takes a bucket of the cheapest rank that exceeds its part, and never a costlier one', () => {
  const random = randomFrom(seededInFull(SEQUENCES));
  for (let run = 0; run < SEQUENCES; run += 1) {
    const max = random(100);
    const sizes = Array.from({ length: RANKS }, () => random(40));
    const total = sizes.reduce((sum, size) => sum + size, 0);
    if (total <= max) continue;
    const rank = rankToForget(sizes, max);
    const partOf = (of: number): number => Math.floor((max * [2, 2, 2, 6, 4][of]!) / 16);
    if (sizes[rank]! <= partOf(rank))
      throw new Error(`of ${sizes.join(', ')} with room for ${max}, rank ${rank} has no more than its part`);
    for (let cheaper = 0; cheaper < rank; cheaper += 1)
      if (sizes[cheaper]! > partOf(cheaper)) throw new Error(`of ${sizes.join(', ')} with room for ${max}, ${rank} goes before ${cheaper}`);
  }
});
