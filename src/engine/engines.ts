/** The engine of each algorithm, and of requests in flight. */

import type { BucketAlgorithm } from '../rule/limit';
import type { Engine } from './engine';
import { fixedWindow, type FixedWindowState } from './fixed-window';
import { inFlight, type InFlightState } from './in-flight';
import { leakyBucket } from './leaky-bucket';
import { slidingWindowCounter, type SlidingWindowCounterState } from './sliding-window-counter';
import { slidingWindowLog, type SlidingWindowLogState } from './sliding-window-log';
import { tokenBucket, type TokenBucketState } from './token-bucket';

/** A bucket's state, with the algorithm it belongs to. */
export type BucketState = TokenBucketState | FixedWindowState | SlidingWindowLogState | SlidingWindowCounterState | InFlightState;

// Each state is made by the engine that reads it: a bucket's key names its algorithm.
export const ENGINES: Readonly<Record<BucketAlgorithm, Engine<BucketState>>> = {
  token_bucket: tokenBucket,
  leaky_bucket: leakyBucket,
  fixed_window: fixedWindow,
  sliding_window_log: slidingWindowLog,
  sliding_window_counter: slidingWindowCounter,
  in_flight: inFlight,
};
