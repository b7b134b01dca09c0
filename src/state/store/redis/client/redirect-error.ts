/** Redirects of a Redis Cluster: replies of a node that did not run a call, and names another node or asks for a retry. */

import { PORT_MAX } from './address';
import { StoreError } from '../../port/store-error';

/** The slot is on another node, permanently (MOVED) or for this call while it moves (ASK). Nothing has run. */
export class RedirectError extends StoreError {
  constructor(
    readonly redirect: Redirect,
    cause: Error,
  ) {
    // During a move only some buckets of a command are there; afterwards all of them.
    super('this bucket is on another node of the Redis Cluster', 'redirected', {
      cause,
      mayHaveRun: false,
      isMoving: redirect.kind === 'ask',
    });
  }
}

export interface Redirect {
  readonly kind: 'moved' | 'ask';
  /** May be empty, which means the host of the replying node. */
  readonly host: string;
  readonly port: number;
}

/** The host may be an IPv6 address, so the port follows the last colon. */
const REDIRECT = /^(MOVED|ASK) \d+ (.*):(\d{1,5})(?:@\d+)?$/;

/** Undefined if the error that a node answered is not a redirect. */
export function redirectOf(error: Error): StoreError | undefined {
  if (error.message.startsWith('TRYAGAIN'))
    return new StoreError('the Redis Cluster is moving some of these buckets', 'redirected', {
      cause: error,
      mayHaveRun: false,
      isMoving: true,
    });
  const [, kind, host = '', port] = REDIRECT.exec(error.message) ?? [];
  if (kind === undefined || Number(port) > PORT_MAX) return undefined;
  return new RedirectError({ kind: kind === 'ASK' ? 'ask' : 'moved', host, port: Number(port) }, error);
}
