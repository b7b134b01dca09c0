/** The engine of each algorithm. */

import type { Algorithm } from '../rule/limit';
import type { Engine } from './engine';
import { fixedWindow, type FixedWindowState } from './fixed-window';
import { leakyBucket } from './leaky-bucket';
import { slidingWindowCounter, type SlidingWindowCounterState } from './sliding-window-counter';
import { slidingWindowLog, type SlidingWindowLogState } from './sliding-window-log';
import { tokenBucket, type TokenBucketState } from './token-bucket';

/** A bucket's state, with the algorithm it belongs to. */
export type BucketState = TokenBucketState | FixedWindowState | SlidingWindowLogState | SlidingWindowCounterState;

// Each state is made by the engine that reads it: a bucket's key names its algorithm.
export const ENGINES = {
  token_bucket: tokenBucket,
  leaky_bucket: leakyBucket,
  fixed_window: fixedWindow,
  sliding_window_log: slidingWindowLog,
  sliding_window_counter: slidingWindowCounter,
} as Readonly<Record<Algorithm, Engine<BucketState>>>;
