/** The body of an HTTP request, read up to a bound. */

import type { IncomingMessage } from 'node:http';

export interface BodyRead {
  /** Absent: it is larger than allowed. */
  readonly body?: Buffer;
}

/** Rejects if the client goes away before the body is complete. */
export async function readBody(request: IncomingMessage, { bytesMax }: { readonly bytesMax: number }): Promise<BodyRead> {
  if (Number(request.headers['content-length'] ?? 0) > bytesMax) return {};
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= bytesMax) {
        chunks.push(chunk);
        return;
      }
      // What still comes is thrown away: a connection closed on a client that is sending loses it the reply.
      chunks.length = 0;
      resolve({});
    });
    request.once('end', () => {
      resolve({ body: Buffer.concat(chunks) });
    });
    request.once('error', reject);
  });
}
