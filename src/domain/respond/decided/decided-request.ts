/** A decided request with all data for the additions of its answer. */

import type { GroupVerdict } from '../../bucket/take';
import type { RateLimitRequest } from '../../descriptor/descriptor';
import type { Decision } from '../../decide/decision';
import type { RequestMatch } from '../../rule/match';

export interface DecidedRequest {
  readonly request: RateLimitRequest;
  readonly matched: RequestMatch;
  readonly verdict: GroupVerdict;
  readonly decision: Decision;
}
