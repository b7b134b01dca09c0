/** The share of a limit that one instance enforces while instances cannot count together. */

import { TRAITS } from '../../domain/algorithm/algorithms';
import type { BucketLimit } from '../../domain/bucket/take';
import { WINDOW_US_MAX } from '../../domain/descriptor/unit';
import { LIMIT_MAX } from '../../domain/rule/limit';

/** While they count separately, all instances together admit at most four fifths of a limit, which leaves room for hits that are lost. */
const SHARE_OF_FIVE = 4;
const FIFTHS = 5;

/**
 * The limit of this instance's own bucket: 0.8 of the limit, divided by the instances, but at least one hit (a
 * limit of 0 stays 0). So all instances together admit at most `instances * max(1, 0.8 * limit / instances)` at once.
 *
 * The refill rate is scaled exactly, to `4 * requests` for each `5 * instances` windows. If that window would exceed 100 years,
 * the share does not refill, which errs on the side of denial.
 */
export function toLocalShare(limit: BucketLimit, { instances }: { readonly instances: number }): BucketLimit {
  if (limit.capacity === 0) return limit;
  const capacity = shareOfHits(limit.capacity, { instances });
  // Hits in windows return at the end of their window, so a smaller limit suffices.
  if (TRAITS[limit.algorithm].restores !== 'evenly') return { ...limit, capacity, requestsPerUnit: capacity };
  const windowUs = limit.windowUs * FIFTHS * instances;
  if (windowUs > WINDOW_US_MAX) return { ...limit, capacity, requestsPerUnit: 0 };
  const requestsPerUnit = limit.requestsPerUnit * SHARE_OF_FIVE;
  if (requestsPerUnit <= LIMIT_MAX) return { ...limit, capacity, windowUs, requestsPerUnit };
  // The same rate: a window has whole seconds, so a quarter of it is whole too.
  return { ...limit, capacity, windowUs: windowUs / SHARE_OF_FIVE };
}

/** The share of a number of hits: of a limit, or of the last known remaining hits. */
export function shareOfHits(hits: number, { instances }: { readonly instances: number }): number {
  if (hits === 0) return 0;
  // In two steps, so that no product is above 2^53.
  const parts = FIFTHS * instances;
  const rest = hits % parts;
  return Math.max(1, ((hits - rest) / parts) * SHARE_OF_FIVE + Math.floor((rest * SHARE_OF_FIVE) / parts));
}

/** The inverse: the fewest hits of the limit whose share is at least this one. */
export function hitsOfShare(share: number, { instances }: { readonly instances: number }): number {
  const rest = share % SHARE_OF_FIVE;
  return ((share - rest) / SHARE_OF_FIVE) * FIFTHS * instances + Math.ceil((rest * FIFTHS * instances) / SHARE_OF_FIVE);
}
