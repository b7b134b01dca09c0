/** One HTTP request of a test, on a connection of its own, bounded in time. */
import { request, type IncomingHttpHeaders } from 'node:http';
import { hangLimitMs } from '../clock/hang-limit';

const TIMEOUT_MS = hangLimitMs(30_000);

export interface HttpRequest {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string | string[]>>;
  /** Sent as JSON, with POST, unless it is a string. */
  readonly body?: unknown;
  /** The address of this machine that it is sent from. */
  readonly from?: string;
  /** Gives the request up: it rejects, and its connection is closed. */
  readonly signal?: AbortSignal;
}

export interface HttpResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export function httpRequest(url: string, { method, headers = {}, body, from, signal }: HttpRequest = {}): Promise<HttpResponse> {
  return new Promise((resolve, reject) => {
    const options = {
      method: method ?? (body === undefined ? 'GET' : 'POST'),
      headers,
      agent: false,
      timeout: TIMEOUT_MS,
      localAddress: from,
      signal,
    };
    const outgoing = request(url, options, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.once('error', reject);
      response.once('end', () => {
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks).toString() });
      });
    });
    outgoing.once('timeout', () => outgoing.destroy(new Error(`no answer from ${url} within ${TIMEOUT_MS} ms`)));
    outgoing.once('error', reject);
    outgoing.end(typeof body === 'string' ? body : JSON.stringify(body));
  });
}
