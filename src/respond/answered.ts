/** What is known of a request once it is decided: all that an answer's additions are made of. */

import type { GroupVerdict } from '../bucket/take';
import type { RateLimitRequest } from '../descriptor/descriptor';
import type { Decision } from '../engine/decision';
import type { RequestMatch } from '../rule/match';

export interface Answered {
  readonly request: RateLimitRequest;
  readonly matched: RequestMatch;
  readonly verdict: GroupVerdict;
  readonly decision: Decision;
}
