/** Key: the takes that a matched request asks of the store. */

import type { RateLimitRequest } from '../descriptor/descriptor';
import type { RequestMatch } from '../rule/match';
import { bucketKey } from './bucket-key';
import type { Group, Take } from './take';

/** One take for each limit of each descriptor, in their order. */
export function toGroup({ request, matched, keyPrefix, shadow }: ToGroupInput): Group {
  const { domain, descriptors } = request;
  const takes: Take[] = [];
  for (const [descriptor, { entries, hits = request.hits }] of descriptors.entries()) {
    const match = matched.matches[descriptor];
    for (const limit of match?.limits ?? []) {
      const key = bucketKey({ prefix: keyPrefix, domain, entries, limit });
      takes.push({ bucketKey: key, limit, hits, mode: match?.mode ?? 'enforced', descriptor });
    }
  }
  return { takes, quotaAlwaysFits: matched.matches.some((match) => match.quotaAlwaysFits), shadow };
}

interface ToGroupInput {
  readonly request: RateLimitRequest;
  readonly matched: RequestMatch;
  /** `CACHE_KEY_PREFIX`. */
  readonly keyPrefix: string;
  /** `SHADOW_MODE`. */
  readonly shadow: boolean;
}
