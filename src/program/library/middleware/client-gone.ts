/** A signal that aborts when the client of a request has left. */

import type { ServerResponse } from 'node:http';

/** `close` also comes after a response that was sent; nobody waits then. */
export function clientGone(response: ServerResponse): AbortSignal {
  const abort = new AbortController();
  if (response.destroyed) abort.abort();
  else
    response.once('close', () => {
      abort.abort();
    });
  return abort.signal;
}
