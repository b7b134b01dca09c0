/**
 * Leaky bucket: hits evenly spaced, one per `windowUs / requestsPerUnit`; `burst` hits may come early. Twin of
 * `lua/include/leaky-bucket.lua`: with Redis the decision runs there, with the embedded store here.
 *
 * Used as a meter, a leaky bucket is the token bucket seen from the other side (ITU-T I.371, annex A): its water level
 * is the hits used, and it leaks at the rate at which tokens come back. So the engine is the same; what differs is what
 * it may hold, `1 + burst` hits instead of `burst` (`burst.capacity`).
 */

import type { AlgorithmTraits } from './algorithm';
import { tokenBucket, type TokenBucketState } from './token-bucket';

export const leakyBucket: AlgorithmTraits<TokenBucketState> = {
  keyLetters: 'lb',
  scriptCode: '3',
  restores: 'evenly',
  holds: 'hits',
  burst: {
    // Nothing leaks out of a bucket with a rate of 0, so nothing may go in.
    capacity: (requestsPerUnit, burst = 0) => (requestsPerUnit === 0 ? 0 : 1 + burst),
    forCapacity: (hits) => hits - 1,
    isWholeCapacity: true,
  },
  isPlain: true,
  secondNumberMax: tokenBucket.secondNumberMax,
  engine: tokenBucket.engine,
};
