/** Makes the request of a line that says its hits. */

import type { RateLimitRequest } from '../../../../domain/descriptor/descriptor';

/** Hits of 0 are those of each descriptor: 0 hits of a request are one. */
export function requestWith({ domain, descriptors, hits }: Pick<RateLimitRequest, 'domain' | 'descriptors' | 'hits'>): RateLimitRequest {
  if (hits !== 0) return { domain, descriptors, hits, saysHits: true };
  return { domain, descriptors: descriptors.map((each) => ({ hits: 0, ...each })), hits: 1, saysHits: true };
}
