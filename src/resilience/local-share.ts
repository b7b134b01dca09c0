/** One instance's share of a limit, for when instances can't count together. */

import type { BucketLimit } from '../bucket/take';
import { WINDOW_US_MAX } from '../rule/unit';

/** Instances together admit at most four fifths of a limit while they count apart: what they forget stays small. */
const SHARE_OF_FIVE = 4;
const FIFTHS = 5;

/**
 * The limit of a bucket of this instance's own: 0.8 of the limit, divided by the instances, but at least one hit (a
 * limit of 0 stays 0). So all instances together admit at most `instances * max(1, 0.8 * limit / instances)` at once.
 *
 * A refill is scaled exactly: `4 * requests` per `5 * instances` windows. Where that window would be over 100 years,
 * nothing refills: that errs to denial.
 */
export function toLocalShare(limit: BucketLimit, { instances }: { readonly instances: number }): BucketLimit {
  if (limit.capacity === 0) return limit;
  const capacity = shareOfHits(limit.capacity, { instances });
  switch (limit.algorithm) {
    case 'token_bucket':
    case 'leaky_bucket': {
      const windowUs = limit.windowUs * FIFTHS * instances;
      if (windowUs > WINDOW_US_MAX) return { ...limit, capacity, requestsPerUnit: 0 };
      return { ...limit, capacity, windowUs, requestsPerUnit: limit.requestsPerUnit * SHARE_OF_FIVE };
    }
    case 'fixed_window':
    case 'sliding_window_log':
    case 'sliding_window_counter':
    case 'in_flight':
      return { ...limit, capacity, requestsPerUnit: capacity };
  }
}

/** The same share of hits: of a limit, or of what was last known to be left of it. */
export function shareOfHits(hits: number, { instances }: { readonly instances: number }): number {
  if (hits === 0) return 0;
  return Math.max(1, Math.floor((hits * SHARE_OF_FIVE) / (FIFTHS * instances)));
}
