/** Every algorithm by its name: the one place that lists them. */

import type { AlgorithmTraits } from './algorithm';
import { budget } from './budget';
import { fixedWindow } from './fixed-window';
import { inFlight } from './in-flight';
import { leakyBucket } from './leaky-bucket';
import { slidingWindowCounter } from './sliding-window-counter';
import { slidingWindowLog } from './sliding-window-log';
import { tokenBucket } from './token-bucket';

/** By the name that `algorithm:` gives; messages list them in this order. */
const CONFIGURED = {
  token_bucket: tokenBucket,
  leaky_bucket: leakyBucket,
  fixed_window: fixedWindow,
  sliding_window_log: slidingWindowLog,
  sliding_window_counter: slidingWindowCounter,
};

/** With those that no `algorithm:` names: the field `in_flight` makes slots of requests in flight, and `unit: total` a budget. */
const ALL = { in_flight: inFlight, budget, ...CONFIGURED };

/** An algorithm that `algorithm:` names. */
export type ConfiguredAlgorithm = keyof typeof CONFIGURED;

/** An algorithm that counts hits. */
export type Algorithm = ConfiguredAlgorithm | 'budget';

/** An algorithm that counts in a bucket. */
export type BucketAlgorithm = keyof typeof ALL;

type StateOf<Traits> = Traits extends AlgorithmTraits<infer State> ? State : never;

/** The state of a bucket, under any algorithm. */
export type BucketState = StateOf<(typeof ALL)[BucketAlgorithm]>;

// A bucket key names its algorithm, so each state is read by the engine that made it.
export const TRAITS: Readonly<Record<BucketAlgorithm, AlgorithmTraits<BucketState>>> = ALL;

/** The names that `algorithm:` takes. */
export const ALGORITHMS = Object.keys(CONFIGURED) as readonly ConfiguredAlgorithm[];

/** The algorithm of envoyproxy/ratelimit; without a burst its bounds are those of every algorithm. */
export const REFERENCE_ALGORITHM: Algorithm = 'fixed_window';

/** The algorithm with `--config` where no setting and no limit names one. */
export const PREFERRED_ALGORITHM: ConfiguredAlgorithm = 'token_bucket';

/** The algorithm of penalties: it costs no more than a fixed window, and no edge of a window forgets denials. */
export const DENIALS_ALGORITHM: Algorithm = 'sliding_window_counter';

/**
 * The algorithm of shares of limits that restore hits evenly: it counts by the window, so that its size alone is the share. Shares that
 * are token buckets or fixed windows cost less, but let a member drain the whole bucket in bursts: others missed up to 17 and 47 % of theirs.
 */
export const SHARE_ALGORITHM: Algorithm = 'sliding_window_counter';

/** The algorithm of calendar windows. */
export const CALENDAR_ALGORITHM: ConfiguredAlgorithm = 'fixed_window';

/** The algorithm of `unit: total`, and of no other unit. */
export const TOTAL_ALGORITHM: Algorithm = 'budget';
