/** What a node of a Redis Cluster says when it has not run a call, and who is to be asked instead, or how. */

import type { ErrorReply } from 'redis';
import { StoreError } from './store';

/** The slot is elsewhere: for good, or for this call while it is being moved. Nothing has been run. */
export class RedirectError extends StoreError {
  constructor(
    readonly redirect: Redirect,
    cause: ErrorReply,
  ) {
    super('the Redis Cluster has this bucket on another node', 'redirected', { cause, mayHaveRun: false });
  }
}

export interface Redirect {
  readonly kind: 'moved' | 'ask';
  /** May be empty: the host of the node that says so. */
  readonly host: string;
  readonly port: number;
}

/** The buckets are of a slot that is being moved, some here and some there: to be asked one by one. Nothing has been run. */
export class TryAgainError extends StoreError {
  constructor(cause: ErrorReply) {
    super('the Redis Cluster is moving some of these buckets', 'redirected', { cause, mayHaveRun: false });
  }
}

/** A host may be an IPv6 address: the port is behind the last colon. */
const REDIRECT = /^(MOVED|ASK) \d+ (.*):(\d{1,5})(?:@\d+)?$/;

/** Undefined if the error is no redirect. */
export function redirectOf(error: ErrorReply): StoreError | undefined {
  if (error.message.startsWith('TRYAGAIN')) return new TryAgainError(error);
  const [, kind, host = '', port] = REDIRECT.exec(error.message) ?? [];
  if (kind === undefined) return undefined;
  return new RedirectError({ kind: kind === 'ASK' ? 'ask' : 'moved', host, port: Number(port) }, error);
}
