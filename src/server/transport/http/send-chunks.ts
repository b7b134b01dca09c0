/** Sends a long HTTP reply chunk by chunk: as fast as its client reads, and within a slice of each turn of the event loop. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { constants, createGzip } from 'node:zlib';
import { Pace, SHORT_SLICE_MS } from '../../../lib/slices';

/** Set on every chunked reply, whatever its length, because a longer reply of the same path may be compressed. */
export const CHUNKED_HEADERS = { vary: 'accept-encoding' } as const;

export interface ChunkedReply {
  readonly status: number;
  readonly contentType: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: readonly Buffer[];
}

export interface SendChunksInput {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly reply: ChunkedReply;
  /** A client that has not read everything by then is disconnected. */
  readonly timeoutMs: number;
}

/** Resolves when the reply was sent or the connection is gone; never rejects. */
export async function sendChunks({ request, response, reply, timeoutMs }: SendChunksInput): Promise<void> {
  const { status, contentType, headers, body } = reply;
  const head = { ...headers, 'content-type': contentType, ...CHUNKED_HEADERS };
  const isGzip = takesGzip(request);
  response.writeHead(
    status,
    isGzip ? { ...head, 'content-encoding': 'gzip' } : { ...head, 'content-length': body.reduce((sum, { length }) => sum + length, 0) },
  );
  if (request.method === 'HEAD') {
    response.end();
    return;
  }
  const chunks = Readable.from(paced(body), { objectMode: false });
  const timer = setTimeout(() => response.destroy(), timeoutMs);
  try {
    // zlib runs in its own thread. Higher levels save few bytes and take twice the time.
    if (isGzip) await pipeline(chunks, createGzip({ level: constants.Z_BEST_SPEED }), response);
    else await pipeline(chunks, response);
  } catch {
    // The client disconnected, or was too slow.
    response.destroy();
  } finally {
    clearTimeout(timer);
  }
}

async function* paced(chunks: readonly Buffer[]): AsyncGenerator<Buffer> {
  const pace = new Pace(SHORT_SLICE_MS);
  for (const chunk of chunks) {
    yield chunk;
    if (pace.isOver) await pace.nextSlice();
  }
}

/** Whether the client accepts gzip (without `q=0`). */
function takesGzip({ headers }: IncomingMessage): boolean {
  const { 'accept-encoding': encodings = '' } = headers;
  return encodings.split(',').some((each) => /^\s*gzip\s*(?:;\s*q=(?!0(?:\.0*)?\s*$).*)?$/i.test(each));
}
