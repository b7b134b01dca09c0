/** The service behind the tested proxies: it counts, and keeps the last request. */

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Received {
  readonly url: string;
  readonly method: string;
  readonly body: string;
}

export interface Backend {
  readonly port: number;
  /** How many requests have come. */
  requests(): number;
  last(): Received | undefined;
  stop(): Promise<void>;
}

/** Longer than any test: an idle connection that Node closes while a proxy sends on it would be an error of the proxy. */
const KEEP_ALIVE_MS = 600_000;

/** Answers /forbidden 403, and everything else 200. */
export async function startBackend(): Promise<Backend> {
  let requests = 0;
  let last: Received | undefined;
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.once('end', () => {
      requests += 1;
      last = { url: request.url ?? '', method: request.method ?? '', body: Buffer.concat(chunks).toString() };
      response.statusCode = request.url === '/forbidden' ? 403 : 200;
      response.end('from the backend');
    });
  });
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  return {
    port: (server.address() as AddressInfo).port,
    requests: () => requests,
    last: () => last,
    stop: async () => {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}
