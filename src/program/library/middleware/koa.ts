/** `/koa` of the library packages: middleware for Koa, and for every server whose handlers take a context with a body and an asynchronous `next`. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { LimitHeader, LimitResult } from '../limiter/limiter';
import { askLimiter, checkMiddlewareOptions, type MiddlewareOptions } from './ask-limiter';
import { clientGone } from './client-gone';
import { denialOf, isContentType } from './denial';

export { clientAddress, type ClientAddressOptions } from './client-address';
export type { MiddlewareOptions } from './ask-limiter';

/** The part of Koa's context that the middleware uses. */
export interface KoaContext {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  status: number;
  body: unknown;
  /** False: Koa does not answer. */
  respond?: boolean | undefined;
  set(name: string, value: string): void;
  append(name: string, value: string): void;
}

export interface KoaOptions<Context> extends MiddlewareOptions<Context> {
  /** Answers a denied request instead of the middleware; headers for the client are set already. */
  onDenied?(result: LimitResult, context: Context): void | Promise<void>;
}

export function rateLimit<Context extends KoaContext>(
  options: KoaOptions<Context>,
): (context: Context, next: () => Promise<unknown>) => Promise<void> {
  checkMiddlewareOptions(options);
  return async (context, next) => {
    const result = await askLimiter(options, context, () => clientGone(context.res));
    if (context.res.destroyed || context.res.headersSent) {
      context.respond = false;
      return;
    }
    if (result?.allowed === false) {
      await deny(options, context, result);
      return;
    }
    if (result !== undefined) append(context, result.headers);
    await next();
  };
}

async function deny<Context extends KoaContext>(options: KoaOptions<Context>, context: Context, result: LimitResult): Promise<void> {
  append(
    context,
    result.headers.filter((header) => !isContentType(header)),
  );
  if (options.onDenied !== undefined) return options.onDenied(result, context);
  const { status, contentType, body } = denialOf(result);
  context.status = status;
  context.set('Content-Type', contentType);
  context.body = body;
}

function append(context: KoaContext, headers: readonly LimitHeader[]): void {
  for (const { name, value } of headers) context.append(name, value);
}
