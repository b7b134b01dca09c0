/** A plain HTTP server: its bounds, start and drain. Its content is a table of routes. */

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { monotonicNowMs } from '../../../lib/clock';
import { asError } from '../../../lib/errors';
import { refuseUntilOpen, type Gate } from '../../../lib/gate';
import { ConnectionGuard, GUARDED_MESSAGES } from '../../../lib/wire/guarded-server';
import type { LingerBounds } from '../../../lib/wire/paced-socket';
import type { FaultLog } from '../answer';
import { CHUNKED_HEADERS, sendChunks } from './send-chunks';

/** The bounds of a port; tests may lower them. */
export interface HttpBounds {
  /** How long a client may take for its headers, in milliseconds. */
  readonly headersTimeoutMs: number;
  /** How long a client may take for a whole request, in milliseconds. */
  readonly requestTimeoutMs: number;
  /** Interval of the checks of both, in milliseconds. */
  readonly checkMs: number;
  /** How long an idle connection is kept, in milliseconds. */
  readonly keepAliveTimeoutMs: number;
  /** Maximum of open connections; for a further one the longest idle one ends. */
  readonly connectionsMax: number;
  /** Maximum of concurrent long replies. For a further one the oldest ends, unless it began less than `longReplyKeptMs` ago: then the new one gets 503. */
  readonly longRepliesMax: number;
  readonly longReplyKeptMs: number;
  /** How long a client may take to read a long reply, in milliseconds. */
  readonly replyTimeoutMs: number;
  /** For clients that still send while they are answered. */
  readonly linger?: LingerBounds;
}

export const HTTP_BOUNDS: HttpBounds = {
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 30_000,
  checkMs: 2_000,
  keepAliveTimeoutMs: 60_000,
  connectionsMax: 10_000,
  longRepliesMax: 16,
  longReplyKeptMs: 1_000,
  replyTimeoutMs: 30_000,
};

export interface HttpReply {
  readonly status: number;
  readonly contentType: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Chunks for a reply that may be too long to send in one turn of the event loop; no single chunk is. */
  readonly body: string | readonly Buffer[];
}

export type Route = (request: IncomingMessage) => HttpReply | Promise<HttpReply>;

export interface HttpServerOptions {
  /** By path, without the query. */
  readonly routes: ReadonlyMap<string, Route>;
  /** By prefix, for paths without an exact route. */
  readonly routesBelow?: ReadonlyMap<string, Route>;
  readonly log: FaultLog;
  readonly bounds?: Partial<HttpBounds>;
  /** Called for each connection that ended because `connectionsMax` were open. */
  readonly onTooMany?: (open: number) => void;
  /** Requests wait until it opens; absent: it is open. */
  readonly gate?: Gate | undefined;
}

export function textReply(status: number, body: string): HttpReply {
  return { status, contentType: 'text/plain; charset=utf-8', body };
}

/** Wraps a route that reads no body: other methods get 405. */
export function forMethods(methods: readonly string[], route: Route): Route {
  const allow = methods.join(', ');
  return (request) => {
    request.resume();
    if (methods.includes(request.method ?? '')) return route(request);
    return { ...textReply(405, `the method must be one of ${allow}\n`), headers: { allow } };
  };
}

export class HttpServer {
  private readonly bounds: HttpBounds;
  private readonly server;
  private readonly guard: ConnectionGuard;
  /** When each long reply began, by `monotonicNowMs()`; the oldest first. */
  private readonly longReplies = new Map<ServerResponse, number>();

  constructor(private readonly options: HttpServerOptions) {
    this.bounds = { ...HTTP_BOUNDS, ...options.bounds };
    const {
      headersTimeoutMs: headersTimeout,
      requestTimeoutMs: requestTimeout,
      checkMs: connectionsCheckingInterval,
      keepAliveTimeoutMs: keepAliveTimeout,
    } = this.bounds;
    const timeouts = { headersTimeout, requestTimeout, connectionsCheckingInterval, keepAliveTimeout };
    this.server = createServer({ ...timeouts, ...GUARDED_MESSAGES }, (request, response) => {
      this.serve(request, response).catch((error: unknown) => {
        this.options.log.error({ err: asError(error) }, 'an answer of an HTTP port failed');
        response.destroy();
      });
    });
    this.guard = new ConnectionGuard(this.server, this.bounds, options.onTooMany);
    if (options.gate !== undefined) refuseUntilOpen(this.server, options.gate);
  }

  /** Listens, by default on every address; port 0 selects a free port. Rejects if the address cannot be bound. */
  start({ host, port }: { readonly host: string | undefined; readonly port: number }): Promise<{ port: number }> {
    return new Promise((resolve, reject) => {
      this.server.once('error', reject);
      this.server.listen({ host, port }, () => {
        this.server.off('error', reject);
        resolve({ port: (this.server.address() as AddressInfo).port });
      });
    });
  }

  /** Accepts no new connections, and resolves when open requests are answered; after `timeoutMs` it closes the rest. */
  close({ timeoutMs }: { readonly timeoutMs: number }): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => {
        this.server.closeAllConnections();
      }, timeoutMs);
      this.server.close(() => {
        clearTimeout(timer);
        resolve();
      });
      // Requests that have arrived are read first.
      setImmediate(() => {
        this.guard.closeIdle();
      });
    });
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { gate } = this.options;
    if (gate?.isOpen === false) await gate.opened;
    const reply = await this.reply(request);
    // A closing server waits for its connections, so it keeps none open.
    if (!this.server.listening) response.setHeader('connection', 'close');
    if (typeof reply.body === 'string') sendWhole(response, reply, reply.body);
    else if (reply.body.length > 1) await this.sendLong(request, response, { ...reply, body: reply.body });
    else sendWhole(response, { ...reply, headers: { ...reply.headers, ...CHUNKED_HEADERS } }, reply.body[0] ?? '');
  }

  /** Never rejects: a client that disappears or does not read loses its connection. */
  private async sendLong(
    request: IncomingMessage,
    response: ServerResponse,
    reply: HttpReply & { readonly body: readonly Buffer[] },
  ): Promise<void> {
    if (!this.hasRoomForLong()) {
      response.writeHead(503, { 'content-type': 'text/plain; charset=utf-8', 'retry-after': '1' });
      response.end(`${this.longReplies.size} clients are reading a long reply of this port; retry later\n`);
      return;
    }
    this.longReplies.set(response, monotonicNowMs());
    try {
      await sendChunks({ request, response, reply, timeoutMs: this.bounds.replyTimeoutMs });
    } finally {
      this.longReplies.delete(response);
    }
  }

  /** Ends the oldest long reply if there are too many: clients that read slowly must not keep out a scrape. */
  private hasRoomForLong(): boolean {
    const { longRepliesMax, longReplyKeptMs } = this.bounds;
    if (this.longReplies.size < longRepliesMax) return true;
    const [oldest] = this.longReplies;
    if (oldest === undefined || monotonicNowMs() - oldest[1] < longReplyKeptMs) return false;
    const [response] = oldest;
    this.longReplies.delete(response);
    response.destroy();
    return true;
  }

  private routeAt(path: string): readonly [name: string, route: Route | undefined] {
    const exact = this.options.routes.get(path);
    if (exact !== undefined) return [path, exact];
    for (const [start, route] of this.options.routesBelow ?? []) if (path.startsWith(start)) return [`${start}…`, route];
    return [path, undefined];
  }

  private async reply(request: IncomingMessage): Promise<HttpReply> {
    const path = pathOf(request.url ?? '');
    const [name, route] = this.routeAt(path);
    if (route === undefined) return textReply(404, 'not found\n');
    try {
      return await route(request);
    } catch (error) {
      // The name of the route, because a caller chooses the path.
      this.options.log.error({ err: error }, `the HTTP request for ${name} failed`);
      return textReply(500, 'internal error; see the log of the rate limit service\n');
    }
  }
}

function sendWhole(response: ServerResponse, { status, headers, contentType }: HttpReply, body: string | Buffer): void {
  response.writeHead(status, { ...headers, 'content-type': contentType, 'content-length': Buffer.byteLength(body) });
  response.end(body);
}

/**
 * The path of a request target as it was sent, without the query. Escapes stay, so that a proxy that compares the text of a path and this
 * server agree. The target may be an absolute URL, which servers must accept (RFC 9112, 3.2.2).
 */
export function pathOf(target: string): string {
  const [url = ''] = target.split('?', 1);
  return url.startsWith('/') ? url : url.replace(/^https?:\/\/[^/]*\/?/i, '/');
}
