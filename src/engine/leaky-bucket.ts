/**
 * Leaky bucket: hits evenly spaced, one per `windowUs / requestsPerUnit`; `burst` lets so many come early. Twin of
 * `lua/include/leaky-bucket.lua`: with Redis the decision runs there, with the embedded store here.
 *
 * Used as a meter, a leaky bucket is the token bucket seen from the other side (ITU-T I.371, annex A): its water level
 * is the hits used, and it leaks at the rate at which tokens come back. So the engine is the same; what differs is what
 * it may hold, `1 + burst` hits instead of `burst` (`makeLimit` in `src/rule/limit.ts`).
 */

import type { Engine } from './engine';
import { tokenBucket, type TokenBucketState } from './token-bucket';

export const leakyBucket: Engine<TokenBucketState> = tokenBucket;
