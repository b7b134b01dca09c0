/** One attempt of a caller at a configuration, as plain values that mutations change: it is put into bytes only when it is sent. */
import type { RawRequest } from '../../support/clients/raw-request';

type Field = readonly [string, string];

export type Protocol = 'HTTP/1.1' | 'HTTP/1.0' | 'HTTP/2';

/** When the caller hangs up: after a part of its bytes, or when the backend has the request and has not answered. */
type HangUp = { readonly afterPart: number } | 'unanswered';

export interface Attempt {
  readonly protocol: Protocol;
  readonly method: string;
  /** As it stands in the first line. */
  readonly target: string;
  /** In their order, with the host. Each character is one byte. */
  readonly headers: readonly Field[];
  /** As it is sent, with its framing in HTTP/1. */
  readonly body: string;
  /** After a body in chunks. */
  readonly trailers: readonly Field[];
  readonly lineEnd: '\r\n' | '\n';
  /** What comes before the first line, in HTTP/1. */
  readonly before: string;
  /** So many requests in one connection: in one write, or as streams. */
  readonly copies: number;
  /** Every second stream of HTTP/2 is reset at once. */
  readonly resets: boolean;
  readonly hangsUp?: HangUp;
}

export function attemptOf({ method = 'GET', target, headers = [], body = '' }: RawRequest): Attempt {
  const host: readonly Field[] = headers.some(([name]) => name.toLowerCase() === 'host') ? [] : [['host', 'example.com']];
  return {
    protocol: 'HTTP/1.1',
    method,
    target,
    headers: [...host, ...headers],
    body,
    trailers: [],
    lineEnd: '\r\n',
    before: '',
    copies: 1,
    resets: false,
  };
}

/** For a person who has to repeat it. */
export function shown(attempt: Attempt): string {
  const { protocol, method, target, headers, body, copies, resets, trailers, lineEnd, before, hangsUp } = attempt;
  const cut = (text: string) => (text.length > 300 ? `${text.slice(0, 300)}… (${text.length} bytes)` : text);
  const rest = {
    ...(body !== '' && { body: cut(body) }),
    ...(trailers.length > 0 && { trailers }),
    ...(lineEnd === '\n' && { lineEnd }),
    ...(before !== '' && { before: cut(before) }),
    ...(copies > 1 && { copies, resets }),
    ...(hangsUp !== undefined && { hangsUp }),
  };
  const fields = headers.map(([name, value]) => JSON.stringify(cut(`${name}: ${value}`))).join(' ');
  return `${protocol} ${method} ${JSON.stringify(cut(target))} ${fields} ${JSON.stringify(rest)}`;
}
