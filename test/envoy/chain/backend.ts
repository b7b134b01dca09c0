/** The backend behind the tested Envoy: it counts, says what a response cost, and waits, as the query of the request asks. */
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';

/**
 * How a response says what it cost: in a header, in the JSON of its body, or in the second of the three events that it
 * consists of.
 */
export type CostPlace = 'header' | 'json' | 'events';

export interface Asked {
  readonly status?: number;
  /** What the response cost; absent: it does not say. */
  readonly tokens?: number;
  /** Default: in a header. */
  readonly as?: CostPlace;
  /** The content-type of JSON; default application/json. A backend of the real world compresses it for who accepts that. */
  readonly type?: string;
  /** The response waits until `release`. */
  readonly held?: true;
}

export interface Backend {
  readonly port: number;
  /** Requests that have come. */
  requests(): number;
  /** The headers of the last request that has come. */
  lastHeaders(): IncomingHttpHeaders;
  /** Requests that wait. */
  held(): number;
  /** Answers all that wait. */
  release(): void;
  stop(): Promise<void>;
}

/** Longer than any test. */
const KEEP_ALIVE_MS = 600_000;

/** The query by which a request asks for such a response. */
export function queryOf(asked: Asked): string {
  return `?${new URLSearchParams(Object.entries(asked).map(([name, value]) => [name, String(value)] as [string, string])).toString()}`;
}

export async function startBackend(): Promise<Backend> {
  let requests = 0;
  let lastHeaders: IncomingHttpHeaders = {};
  let waiting: { readonly response: ServerResponse; readonly query: URLSearchParams }[] = [];
  const server = createServer((request, response) => {
    requests++;
    lastHeaders = request.headers;
    // An attack may have a path that is not a URL.
    const query = new URLSearchParams(request.url?.split('?')[1]);
    if (!query.has('held')) {
      answer(response, query, request.headers['accept-encoding']);
      return;
    }
    waiting.push({ response, query });
    response.once('close', () => {
      waiting = waiting.filter((each) => each.response !== response);
    });
  });
  // An idle connection that Node closes while Envoy sends on it would be a 503 of its own.
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  return {
    port: (server.address() as AddressInfo).port,
    requests: () => requests,
    lastHeaders: () => lastHeaders,
    held: () => waiting.length,
    release: () => {
      for (const { response, query } of waiting) answer(response, query);
    },
    stop: async () => {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}

function answer(response: ServerResponse, query: URLSearchParams, acceptEncoding = ''): void {
  const tokens = query.get('tokens');
  const usage = `{"usage":{"total_tokens":${tokens ?? 0}}}`;
  response.statusCode = Number(query.get('status') ?? 200);
  const as = query.get('as');
  if (as === 'json') {
    response.setHeader('content-type', query.get('type') ?? 'application/json');
    if (acceptEncoding.includes('gzip')) response.setHeader('content-encoding', 'gzip').end(gzipSync(usage));
    else response.end(usage);
  } else if (as === 'events') {
    response.setHeader('content-type', 'text/event-stream').end(`data: {"usage":null}\n\ndata: ${usage}\n\ndata: [DONE]\n\n`);
  } else {
    if (tokens !== null) response.setHeader('x-usage-tokens', tokens);
    response.end('from the backend');
  }
}
