/** Requests that are asked one by one, where the path takes many at once. */

import type { RateLimitRequest } from '../../../src/domain/descriptor/descriptor';
import type { Decision } from '../../../src/domain/decide/decision';
import { asError } from '../../../src/lib/errors';
import type { Decide, Outcome } from '../../../src/should-rate-limit';
import type { TakeOptions } from '../../../src/state/store/port/store';

/** Rejects with what the request failed of. */
export type DecideOne = (request: RateLimitRequest, options: TakeOptions) => Promise<Decision>;

/** Asks for each request alone. */
export function alone(decide: Decide): DecideOne {
  return async (request, options) => {
    const [outcome] = await decide([request], options);
    if (outcome === undefined) throw new Error('a request without an outcome');
    if (outcome instanceof Error) throw outcome;
    return outcome;
  };
}

/** Decides many by deciding each: what one fails of is its own. */
export function each(decideOne: DecideOne): Decide {
  const outcomeOf = async (request: RateLimitRequest, options: TakeOptions): Promise<Outcome> => {
    try {
      return await decideOne(request, options);
    } catch (error) {
      return asError(error);
    }
  };
  return (requests, options) => Promise.all(requests.map((request) => outcomeOf(request, options)));
}
