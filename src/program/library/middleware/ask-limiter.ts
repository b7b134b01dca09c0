/** The common part of the middleware of every framework: its options, and the question to the limiter. */

import { asError } from '../../../lib/errors';
import type { Descriptor, Limiter, LimitRequest, LimitResult, WaitOptions } from '../limiter/limiter';
import { checkOptions, isFields, kindOf } from '../limiter/read-option';

/** Its functions are methods, so that a program may declare the type of the request that its framework has. */
export interface MiddlewareOptions<Request> {
  /** A client of Weir, or a limiter in this process. */
  readonly limiter: Pick<Limiter, 'check'> & Partial<Pick<Limiter, 'wait'>>;
  readonly domain: string;
  /** Returns the descriptors to count for a request; without descriptors it is not limited. If it throws, the framework handles the error, and the request does not pass. */
  descriptors(request: Request): readonly Descriptor[] | undefined | Promise<readonly Descriptor[] | undefined>;
  /** Hits of the request. Default: 1. */
  hitsAddend?(request: Request): number;
  /** How long a request may wait until it fits, in milliseconds. Default: it is denied at once. */
  readonly waitMs?: number;
  /** Called when nothing could decide and the failure mode of the limiter did. An error that it throws becomes a warning of Node. */
  onFailure?(error: Error, request: Request): void;
}

const NAMES = ['limiter', 'domain', 'descriptors', 'hitsAddend', 'waitMs', 'onDenied', 'onFailure'];
const FUNCTIONS = ['hitsAddend', 'onDenied', 'onFailure'];

/** @throws TypeError that names the option: the first request would be too late */
export function checkMiddlewareOptions(options: unknown): void {
  checkOptions(options, { names: NAMES, place: 'the middleware' });
  const given = options as Readonly<Record<string, unknown>>;
  const { limiter, domain, descriptors, waitMs } = given;
  const needed = waitMs === undefined ? 'check' : 'wait';
  if (!isFields(limiter) || typeof limiter[needed] !== 'function')
    throw new TypeError(
      `limiter is ${isFields(limiter) ? `an object without ${needed}` : kindOf(limiter)}; set what createClient or createLimiter returns`,
    );
  if (typeof domain !== 'string' || domain === '')
    throw new TypeError(`domain is ${domain === '' ? 'an empty text' : kindOf(domain)}; set the domain of the rules`);
  if (typeof descriptors !== 'function')
    throw new TypeError(
      `descriptors is ${kindOf(descriptors)}; set a function of the request that returns a list, such as () => [{ user: 'zoe' }]`,
    );
  for (const name of FUNCTIONS)
    if (given[name] !== undefined && typeof given[name] !== 'function')
      throw new TypeError(`${name} is ${kindOf(given[name])}; set a function`);
  if (waitMs !== undefined && !(Number.isFinite(waitMs) && (waitMs as number) >= 0))
    throw new TypeError(`waitMs is ${typeof waitMs === 'number' ? String(waitMs) : kindOf(waitMs)}; set a number of milliseconds from 0`);
}

/**
 * Undefined: the request is not limited, or its client has left while it waited; `clientGone` makes the signal of that. Rejects with an Error,
 * whatever an option throws: frameworks take some other values for the absence of an error, and let the request pass or hang.
 */
export async function askLimiter<Request>(
  options: MiddlewareOptions<Request>,
  request: Request,
  clientGone: () => AbortSignal,
): Promise<LimitResult | undefined> {
  try {
    return await ask(options, request, clientGone);
  } catch (error) {
    throw asError(error);
  }
}

async function ask<Request>(
  options: MiddlewareOptions<Request>,
  request: Request,
  clientGone: () => AbortSignal,
): Promise<LimitResult | undefined> {
  const descriptors = await options.descriptors(request);
  if (descriptors === undefined || descriptors.length === 0) return undefined;
  const { limiter, domain, waitMs } = options;
  const asked = { domain, descriptors, ...(options.hitsAddend && { hitsAddend: options.hitsAddend(request) }) };
  const result = await (waitMs === undefined ? limiter.check(asked) : wait(limiter, asked, { maxMs: waitMs, signal: clientGone() }));
  if (result?.error !== undefined) callHook(options, result.error, request);
  return result;
}

/** Undefined: the client has left. */
async function wait(
  limiter: Partial<Pick<Limiter, 'wait'>>,
  asked: LimitRequest,
  options: WaitOptions & { readonly signal: AbortSignal },
): Promise<LimitResult | undefined> {
  try {
    return await limiter.wait?.(asked, options);
  } catch (thrown) {
    if (options.signal.aborted) return undefined;
    const error = asError(thrown);
    // Too many others wait. The class may be that of another package.
    if (error.name !== 'WaitQueueFullError') throw error;
    return { allowed: false, decidedBy: 'failure-mode', headers: [], statuses: [], error };
  }
}

function callHook<Request>(options: MiddlewareOptions<Request>, error: Error, request: Request): void {
  try {
    options.onFailure?.(error, request);
  } catch (thrown) {
    process.emitWarning(asError(thrown));
  }
}
