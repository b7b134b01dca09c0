/** `/fastify` of the library packages: a plugin for all routes of a Fastify server, and a hook for single ones. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { LimitHeader, LimitResult } from '../limiter/limiter';
import { askLimiter, checkMiddlewareOptions, type MiddlewareOptions } from './ask-limiter';
import { clientGone } from './client-gone';
import { denialOf, isContentType } from './denial';

export { clientAddress, type ClientAddressOptions } from './client-address';
export type { MiddlewareOptions } from './ask-limiter';

/** The part of Fastify's request that programs limit by. */
export interface FastifyRequestLike {
  readonly raw: IncomingMessage;
  readonly headers: IncomingMessage['headers'];
  readonly method: string;
  readonly url: string;
  readonly params: unknown;
  readonly query: unknown;
  readonly body: unknown;
}

/** The part of Fastify's reply that the hook uses. */
export interface FastifyReplyLike {
  readonly raw: ServerResponse;
  readonly sent: boolean;
  code(status: number): unknown;
  header(name: string, value: string): unknown;
  getHeader(name: string): number | string | string[] | undefined;
  send(body: string): unknown;
  hijack(): unknown;
}

export interface FastifyOptions extends MiddlewareOptions<FastifyRequestLike> {
  /** Answers a denied request instead of the hook; headers for the client are set already. */
  onDenied?(result: LimitResult, request: FastifyRequestLike, reply: FastifyReplyLike): unknown;
}

export interface FastifyPluginOptions extends FastifyOptions {
  /** When to ask: `onRequest` before the body is read (the default), `preHandler` after it. */
  readonly hook?: 'onRequest' | 'preHandler';
}

export type FastifyHook = (request: FastifyRequestLike, reply: FastifyReplyLike) => Promise<unknown>;

/** For `onRequest`, `preValidation` or `preHandler` of a route. */
export function rateLimit(options: FastifyOptions): FastifyHook {
  checkMiddlewareOptions(options);
  return async (request, reply) => {
    const result = await askLimiter(options, request, () => clientGone(reply.raw));
    if (reply.sent) return reply;
    if (reply.raw.destroyed) {
      reply.hijack();
      return reply;
    }
    if (result === undefined) return undefined;
    append(
      reply,
      result.headers.filter((header) => !isContentType(header)),
    );
    if (result.allowed) return undefined;
    if (options.onDenied !== undefined) {
      await options.onDenied(result, request, reply);
      return reply;
    }
    const { status, contentType, body } = denialOf(result);
    reply.code(status);
    reply.header('Content-Type', contentType);
    reply.send(body);
    return reply;
  };
}

/** The part of a Fastify server that the plugin uses. */
export interface FastifyInstanceLike {
  addHook(name: 'onRequest' | 'preHandler', hook: FastifyHook): unknown;
}

/** For `register`: it applies to all routes of the server that registers it, and of those below. */
export function rateLimitPlugin(
  instance: FastifyInstanceLike,
  { hook = 'onRequest', ...options }: FastifyPluginOptions,
  done: (error?: Error) => void,
): void {
  instance.addHook(hook, rateLimit(options));
  done();
}

// As fastify-plugin does: without it, hooks of a plugin apply to its own routes only.
Object.assign(rateLimitPlugin, { [Symbol.for('skip-override')]: true, [Symbol.for('fastify.display-name')]: 'weir' });

/** Fastify replaces a header of the same name. */
function append(reply: FastifyReplyLike, headers: readonly LimitHeader[]): void {
  for (const { name, value } of headers) {
    const before = reply.getHeader(name);
    reply.header(name, before === undefined ? value : `${String(before)}, ${value}`);
  }
}
