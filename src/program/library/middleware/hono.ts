/** `/hono` of the library packages: middleware for Hono, and for every server whose handlers take a context and answer a Response. */

import type { LimitResult } from '../limiter/limiter';
import { askLimiter, checkMiddlewareOptions, type MiddlewareOptions } from './ask-limiter';
import { denialOf, isContentType } from './denial';

export { clientAddress, type ClientAddressOptions } from './client-address';
export type { MiddlewareOptions } from './ask-limiter';

/** The part of Hono's context that the middleware uses. */
export interface HonoContext {
  readonly req: { readonly raw: Request };
  header(name: string, value?: string, options?: { append?: boolean }): void;
}

export interface HonoOptions<Context> extends MiddlewareOptions<Context> {
  /** Answers a denied request instead of the middleware, which adds the headers for the client. */
  onDenied?(result: LimitResult, context: Context): Response | Promise<Response>;
}

/** nginx's status of a request whose client has gone: nobody reads the response. */
const CLIENT_GONE = 499;

export function rateLimit<Context extends HonoContext>(
  options: HonoOptions<Context>,
): (context: Context, next: () => Promise<void>) => Promise<Response | undefined> {
  checkMiddlewareOptions(options);
  return async (context, next) => {
    const result = await askLimiter(options, context, () => context.req.raw.signal);
    if (context.req.raw.signal.aborted) return new Response(null, { status: CLIENT_GONE });
    if (result?.allowed === false) return deny(options, context, result);
    await next();
    // A handler may answer a Response of its own, which has none of the headers set before it.
    for (const { name, value } of result?.headers ?? []) context.header(name, value, { append: true });
    return undefined;
  };
}

async function deny<Context>(options: HonoOptions<Context>, context: Context, result: LimitResult): Promise<Response> {
  if (options.onDenied !== undefined) {
    const response = await options.onDenied(result, context);
    const headers = new Headers(response.headers);
    for (const header of result.headers) if (!isContentType(header)) headers.append(header.name, header.value);
    return new Response(response.body, { status: response.status, headers });
  }
  const { status, headers, contentType, body } = denialOf(result);
  const all = headers.map(({ name, value }): [string, string] => [name, value]);
  return new Response(body, { status, headers: [...all, ['Content-Type', contentType]] });
}
