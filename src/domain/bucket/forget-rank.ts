/**
 * The order of eviction when the room is too small for all buckets. An evicted bucket is full again, so the order follows what that
 * gives away: the used part of the limit, and the time in which it would have come back anyway.
 *
 * The order is not strict. If it were, a caller who fills the room with used-up limits would have every other bucket evicted between
 * two hits on it, and none would ever be used up again. So each rank keeps a part of the room that costlier ones cannot take, and buckets of
 * one rank are evicted in the order of their last use.
 */

/** Less than half of the limit is used. */
export const SLIGHTLY_USED = 0;
/** At least half of it is used. */
export const HALF_USED = 1;
/** Used up, and full again within `SOON_US`. */
export const USED_UP_FOR_SHORT = 2;
/** Used up for longer. */
export const USED_UP = 3;
/** Below zero because of usage reports: the overdrawn hits must not become available. */
export const OVERDRAWN = 4;

/** For each rank, the cheapest first: the part of the room that it keeps, in sixteenths. */
const KEPT_SIXTEENTHS: readonly number[] = [2, 2, 2, 6, 4];
const SIXTEENTHS = 16;

export const RANKS = KEPT_SIXTEENTHS.length;

const SOON_US = 60_000_000;

/**
 * The rank of a bucket with `room` hits left of `capacity` that is full again after `resetAfterUs`. Plain parameters, because an object for
 * each write would cost too much.
 */
export function forgetRank(room: number, capacity: number, resetAfterUs: number): number {
  // A limit of 0 has nothing to give away.
  if (room >= capacity) return SLIGHTLY_USED;
  if (room > 0) return 2 * room > capacity ? SLIGHTLY_USED : HALF_USED;
  if (room < 0) return OVERDRAWN;
  return resetAfterUs <= SOON_US ? USED_UP_FOR_SHORT : USED_UP;
}

/** The cheapest rank that exceeds its part, when there are more than `max` buckets. `sizes`: the number of buckets of each rank. */
export function rankToForget(sizes: readonly number[], max: number): number {
  for (let rank = 0; rank < RANKS; rank += 1) {
    if ((sizes[rank] ?? 0) > Math.floor((max * (KEPT_SIXTEENTHS[rank] ?? 0)) / SIXTEENTHS)) return rank;
  }
  throw new Error(`no rank exceeds its part of ${max} buckets`);
}
