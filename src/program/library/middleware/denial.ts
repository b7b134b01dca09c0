/** The response to a denied request: as Weir gives it, or else a problem in JSON (RFC 9457). */

import type { LimitHeader, LimitResult } from '../limiter/limiter';

export interface Denial {
  readonly status: number;
  /** Without the type of the body. */
  readonly headers: readonly LimitHeader[];
  readonly contentType: string;
  readonly body: string;
}

/** A limit denied it. */
const TOO_MANY_REQUESTS = { status: 429, title: 'Too Many Requests' };

/** Nothing could decide, and the failure mode is `closed`. */
const UNAVAILABLE = { status: 503, title: 'Service Unavailable' };

export function denialOf({ decidedBy, headers, body }: LimitResult): Denial {
  const { status, title } = decidedBy === 'weir' ? TOO_MANY_REQUESTS : UNAVAILABLE;
  const rest = headers.filter((header) => !isContentType(header));
  if (body !== undefined) {
    const contentType = headers.find(isContentType)?.value ?? 'text/plain; charset=utf-8';
    return { status, headers: rest, contentType, body };
  }
  const retryAfter = headers.find(({ name }) => name.toLowerCase() === 'retry-after')?.value;
  const problem = { type: 'about:blank', title, status, ...(retryAfter !== undefined && { 'retry-after': Number(retryAfter) }) };
  return { status, headers: rest, contentType: 'application/problem+json', body: `${JSON.stringify(problem)}\n` };
}

export function isContentType({ name }: LimitHeader): boolean {
  return name.toLowerCase() === 'content-type';
}
