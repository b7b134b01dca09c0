/** What the middleware of every framework has in common: its options, and the question to the limiter. */

import { asError } from '../../lib/errors';
import type { Descriptor, Limiter, LimitResult } from '../limiter/limiter';

/** Its functions are methods, so that a program may declare the type of the request that its framework has. */
export interface MiddlewareOptions<Request> {
  /** A client of Weir, or a limiter in this process. */
  readonly limiter: Pick<Limiter, 'check'>;
  readonly domain: string;
  /** What to count for a request; without descriptors it is not limited. If it throws, the framework handles the error, and the request does not pass. */
  descriptors(request: Request): readonly Descriptor[] | undefined | Promise<readonly Descriptor[] | undefined>;
  /** Hits of the request. Default: 1. */
  hitsAddend?(request: Request): number;
  /** Called when nothing could decide and the failure mode of the limiter did, for a log or a metric. */
  onFailure?(error: Error, request: Request): void;
}

/**
 * Undefined: the request is not limited. Rejects with an Error, whatever an option throws: frameworks take some other values for the
 * absence of an error, and let the request pass or hang.
 */
export async function askLimiter<Request>(options: MiddlewareOptions<Request>, request: Request): Promise<LimitResult | undefined> {
  try {
    return await ask(options, request);
  } catch (error) {
    throw asError(error);
  }
}

async function ask<Request>(options: MiddlewareOptions<Request>, request: Request): Promise<LimitResult | undefined> {
  const { limiter, domain } = options;
  const descriptors = await options.descriptors(request);
  if (descriptors === undefined || descriptors.length === 0) return undefined;
  const result = await limiter.check({ domain, descriptors, ...(options.hitsAddend && { hitsAddend: options.hitsAddend(request) }) });
  if (result.error !== undefined) options.onFailure?.(result.error, request);
  return result;
}
