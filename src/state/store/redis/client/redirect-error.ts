/** Redirects of a Redis Cluster: replies of a node that did not run a call, and names another node or asks for a retry. */

import { PORT_MAX } from './address';
import { StoreError } from '../../port/store';

/** The slot is on another node, permanently (MOVED) or for this call while it moves (ASK). Nothing has run. */
export class RedirectError extends StoreError {
  constructor(
    readonly redirect: Redirect,
    cause: Error,
  ) {
    super('this bucket is on another node of the Redis Cluster', 'redirected', { cause, mayHaveRun: false });
  }
}

export interface Redirect {
  readonly kind: 'moved' | 'ask';
  /** May be empty, which means the host of the replying node. */
  readonly host: string;
  readonly port: number;
}

/** The slot of the buckets is being moved, and they are on two nodes: send them one by one. Nothing has run. */
export class TryAgainError extends StoreError {
  constructor(cause: Error) {
    super('the Redis Cluster is moving some of these buckets', 'redirected', { cause, mayHaveRun: false });
  }
}

/** The host may be an IPv6 address, so the port follows the last colon. */
const REDIRECT = /^(MOVED|ASK) \d+ (.*):(\d{1,5})(?:@\d+)?$/;

/** Undefined if the error that a node answered is not a redirect. */
export function redirectOf(error: Error): StoreError | undefined {
  if (error.message.startsWith('TRYAGAIN')) return new TryAgainError(error);
  const [, kind, host = '', port] = REDIRECT.exec(error.message) ?? [];
  if (kind === undefined || Number(port) > PORT_MAX) return undefined;
  return new RedirectError({ kind: kind === 'ASK' ? 'ask' : 'moved', host, port: Number(port) }, error);
}
