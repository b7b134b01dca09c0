/** A plain HTTP port: its bounds, its start, its drain. What it serves is a table of routes. */

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { FaultLog } from './answer';

/** Milliseconds a client may take for its headers. */
const HEADERS_TIMEOUT_MS = 10_000;

/** Milliseconds a client may take for a whole request. */
const REQUEST_TIMEOUT_MS = 30_000;

/** Milliseconds an idle connection is kept. */
const KEEP_ALIVE_TIMEOUT_MS = 60_000;

/** Connections open at once; further ones are closed at once. */
const CONNECTIONS_MAX = 10_000;

export interface HttpReply {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
}

export type Route = (request: IncomingMessage) => HttpReply | Promise<HttpReply>;

export interface HttpServerOptions {
  /** By path, without the query; every method of a path is the same to us. */
  readonly routes: ReadonlyMap<string, Route>;
  /** Of paths without a route of their own: by what they begin with. */
  readonly routesBelow?: ReadonlyMap<string, Route>;
  readonly log: FaultLog;
}

export function textReply(status: number, body: string): HttpReply {
  return { status, contentType: 'text/plain; charset=utf-8', body };
}

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

export class HttpServer {
  private readonly server = createServer(
    { headersTimeout: HEADERS_TIMEOUT_MS, requestTimeout: REQUEST_TIMEOUT_MS, keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS },
    (request, response) => {
      void this.serve(request, response);
    },
  );

  /** Of each connection that is open its last request. */
  private readonly last = new Map<Socket, Exchange | undefined>();

  constructor(private readonly options: HttpServerOptions) {
    this.server.maxConnections = CONNECTIONS_MAX;
    this.server.on('connection', (socket) => {
      this.last.set(socket, undefined);
      socket.once('close', () => this.last.delete(socket));
    });
  }

  /** Listens, without a host on every address; port 0 takes a free one. Rejects if the address can't be bound. */
  start({ host, port }: { readonly host: string | undefined; readonly port: number }): Promise<{ port: number }> {
    return new Promise((resolve, reject) => {
      this.server.once('error', reject);
      this.server.listen({ host, port }, () => {
        this.server.off('error', reject);
        resolve({ port: (this.server.address() as AddressInfo).port });
      });
    });
  }

  /** Takes no new connections and resolves when the open requests are answered; after `timeoutMs` it cuts them off. */
  close({ timeoutMs }: { readonly timeoutMs: number }): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => {
        this.server.closeAllConnections();
      }, timeoutMs);
      this.server.close(() => {
        clearTimeout(timer);
        resolve();
      });
      // What had come by now is read first.
      setImmediate(() => {
        for (const [socket, exchange] of this.last) if (isIdle(socket, exchange)) socket.destroy();
      });
    });
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.last.set(request.socket, { request, response });
    const { status, contentType, body } = await this.reply(request);
    // A server that is closing waits for its connections, so none is kept.
    if (!this.server.listening) response.setHeader('connection', 'close');
    response.writeHead(status, { 'content-type': contentType, 'content-length': Buffer.byteLength(body) });
    response.end(body);
  }

  private routeBelow(path: string): Route | undefined {
    for (const [start, route] of this.options.routesBelow ?? []) if (path.startsWith(start)) return route;
    return undefined;
  }

  private async reply(request: IncomingMessage): Promise<HttpReply> {
    const path = pathOf(request.url ?? '');
    const route = this.options.routes.get(path) ?? this.routeBelow(path);
    if (route === undefined) return textReply(404, 'not found\n');
    try {
      return await route(request);
    } catch (error) {
      this.options.log.error({ err: error }, `the HTTP request for ${path} failed`);
      return textReply(500, 'internal error; see the log of the rate limit service\n');
    }
  }
}

/** Node itself closes only those whose last request is over: to it a connection is busy until it has sent one, and until all of it has come. */
function isIdle(socket: Socket, exchange: Exchange | undefined): boolean {
  if (exchange === undefined) return socket.bytesRead === 0;
  return exchange.response.writableFinished && !exchange.request.complete;
}

/** Of a request's target, without the query; its escapes are what they stand for. It may name the whole URL, which each server has to take (RFC 9112, 3.2.2). */
export function pathOf(target: string): string {
  const [url = ''] = target.split('?', 1);
  const path = url.startsWith('/') ? url : url.replace(/^https?:\/\/[^/]*\/?/i, '/');
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}
