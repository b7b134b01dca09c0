/** One request to an admin server, and its reply as JSON, or as lines of JSON. */
import { request, type IncomingHttpHeaders } from 'node:http';
import { hangLimitMs } from '../clock/hang-limit';

const TIMEOUT_MS = hangLimitMs(30_000);

export interface AdminRequest {
  readonly method?: string;
  readonly path: string;
  readonly query?: string;
  readonly token?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  /** Instead of JSON. */
  readonly rawBody?: string;
  /** Ends the request when the headers are there, for streams. */
  readonly endAtHeaders?: boolean;
}

export interface AdminResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** Absent: the body is not JSON. */
  readonly json?: unknown;
  readonly lines?: readonly unknown[];
}

export function callAdmin(
  url: string,
  { method = 'GET', path, query = '', token, headers = {}, body, rawBody, endAtHeaders = false }: AdminRequest,
): Promise<AdminResponse> {
  return new Promise((resolve, reject) => {
    const text = rawBody ?? (body === undefined ? undefined : JSON.stringify(body));
    const outgoing = request(
      `${url}${path}${query === '' ? '' : `?${query}`}`,
      {
        method,
        agent: false,
        timeout: TIMEOUT_MS,
        headers: {
          ...(token !== undefined && { authorization: `Bearer ${token}` }),
          ...(text !== undefined && { 'content-type': 'application/json' }),
          ...headers,
        },
      },
      (response) => {
        const chunks: Buffer[] = [];
        const end = (): void => {
          const all = Buffer.concat(chunks).toString();
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            body: all,
            ...parse(all, response.headers['content-type'] ?? ''),
          });
        };
        if (endAtHeaders && response.statusCode === 200) {
          end();
          response.destroy();
          return;
        }
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.once('error', reject);
        response.once('end', end);
      },
    );
    outgoing.once('timeout', () => outgoing.destroy(new Error(`no answer from ${url} within ${TIMEOUT_MS} ms`)));
    outgoing.once('error', reject);
    outgoing.end(text);
  });
}

function parse(body: string, contentType: string): Pick<AdminResponse, 'json' | 'lines'> {
  if (contentType.includes('ndjson')) {
    const lines = body.split('\n').filter((line) => line !== '');
    return { lines: lines.map((line): unknown => JSON.parse(line)) };
  }
  return contentType.includes('json') && body !== '' ? { json: JSON.parse(body) as unknown } : {};
}
