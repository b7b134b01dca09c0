/** `/express` of the library packages: middleware for Express, and for every server whose handlers take a request, a response and `next`. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { LimitHeader, LimitResult } from '../limiter/limiter';
import { askLimiter, checkMiddlewareOptions, type MiddlewareOptions } from './ask-limiter';
import { clientGone } from './client-gone';
import { denialOf, isContentType } from './denial';

export { clientAddress, type ClientAddressOptions } from './client-address';
export type { MiddlewareOptions } from './ask-limiter';

export interface ExpressOptions<Request, Response> extends MiddlewareOptions<Request> {
  /** Answers a denied request instead of the middleware; headers for the client are set already. */
  onDenied?(result: LimitResult, request: Request, response: Response): void;
}

export type ExpressHandler<Request, Response> = (request: Request, response: Response, next: (error?: unknown) => void) => void;

export function rateLimit<Request extends IncomingMessage = IncomingMessage, Response extends ServerResponse = ServerResponse>(
  options: ExpressOptions<Request, Response>,
): ExpressHandler<Request, Response> {
  checkMiddlewareOptions(options);
  return (request, response, next) => {
    passes(options, request, response).then((isPassing) => {
      if (isPassing) next();
    }, next);
  };
}

/** False: the request is answered, or its client has gone. */
async function passes<Request, Response extends ServerResponse>(
  options: ExpressOptions<Request, Response>,
  request: Request,
  response: Response,
): Promise<boolean> {
  const result = await askLimiter(options, request, () => clientGone(response));
  if (response.destroyed || response.headersSent) return false;
  if (result === undefined) return true;
  if (result.allowed) {
    append(response, result.headers);
    return true;
  }
  if (options.onDenied !== undefined) {
    append(
      response,
      result.headers.filter((header) => !isContentType(header)),
    );
    options.onDenied(result, request, response);
    return false;
  }
  const { status, headers, contentType, body } = denialOf(result);
  append(response, headers);
  response.statusCode = status;
  response.setHeader('Content-Type', contentType);
  response.setHeader('Content-Length', Buffer.byteLength(body));
  response.end(body);
  return false;
}

function append(response: ServerResponse, headers: readonly LimitHeader[]): void {
  for (const { name, value } of headers) response.appendHeader(name, value);
}
