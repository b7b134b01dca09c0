/** A reply of server-sent events. */

import type { ServerResponse } from 'node:http';

/** A comment keeps proxies from closing a quiet stream. */
const HEARTBEAT_MS = 15_000;

/** A client connects again after this, with credentials that are checked again. */
const STREAM_MS_MAX = 600_000;

/** A client that reads slower loses events. */
const BUFFERED_BYTES_MAX = 262_144;

export type OpenEvents = (emit: (event: unknown) => void) => { readonly close: () => void };

/** Streams until the client leaves, `STREAM_MS_MAX` have passed, or the returned function is called. */
export function streamEvents(response: ServerResponse, headers: Readonly<Record<string, string>>, open: OpenEvents): () => void {
  let dropped = 0;
  const source = open((event) => {
    if (response.writableLength > BUFFERED_BYTES_MAX) {
      dropped += 1;
      return;
    }
    if (dropped > 0) response.write(`: ${dropped} event(s) dropped, because the client reads too slowly\n\n`);
    dropped = 0;
    response.write(`data: ${JSON.stringify(event)}\n\n`);
  });
  response.writeHead(200, { ...headers, 'content-type': 'text/event-stream' });
  response.write(': open\n\n');
  const heartbeat = setInterval(() => response.write(': alive\n\n'), HEARTBEAT_MS);
  const end = setTimeout(() => response.end(), STREAM_MS_MAX);
  response.once('close', () => {
    clearInterval(heartbeat);
    clearTimeout(end);
    source.close();
  });
  return () => response.end();
}
