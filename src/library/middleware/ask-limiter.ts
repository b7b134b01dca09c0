/** What the middleware of every framework has in common: its options, and the question to the limiter. */

import type { Descriptor, Limiter, LimitResult } from '../limiter/limiter';

export interface MiddlewareOptions<Request> {
  /** A client of Weir, or a limiter in this process. */
  readonly limiter: Pick<Limiter, 'check'>;
  readonly domain: string;
  /** What to count for a request; without descriptors it is not limited. If it throws, the framework handles the error, and the request does not pass. */
  readonly descriptors: (request: Request) => readonly Descriptor[] | undefined | Promise<readonly Descriptor[] | undefined>;
  /** Hits of the request. Default: 1. */
  readonly hitsAddend?: (request: Request) => number;
  /** Called when nothing could decide and the failure mode of the limiter did, for a log or a metric. */
  readonly onFailure?: (error: Error, request: Request) => void;
}

/** Undefined: the request is not limited. Rejects with what an option throws, and for an invalid request. */
export async function askLimiter<Request>(options: MiddlewareOptions<Request>, request: Request): Promise<LimitResult | undefined> {
  const { limiter, domain, hitsAddend, onFailure } = options;
  const descriptors = await options.descriptors(request);
  if (descriptors === undefined || descriptors.length === 0) return undefined;
  const result = await limiter.check({ domain, descriptors, ...(hitsAddend && { hitsAddend: hitsAddend(request) }) });
  if (result.error !== undefined) onFailure?.(result.error, request);
  return result;
}
