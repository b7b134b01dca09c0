/** What a kind of response headers is to the answer. */

import type { Header } from '../../decide/decision';
import type { ResponseHeaders } from '../../rule/limit';
import type { DecidedRequest } from '../decided/response-input';

/** `LIMIT_LIMIT_HEADER`, `LIMIT_REMAINING_HEADER` and `LIMIT_RESET_HEADER`. */
export interface HeaderNames {
  readonly limit: string;
  readonly remaining: string;
  readonly reset: string;
}

export interface HeaderOptions {
  /** For limits without `response_headers`. */
  readonly mode: ResponseHeaders;
  /** All modes that a limit of the rules in force may have. */
  readonly modes: ReadonlySet<ResponseHeaders>;
  readonly headerNames: HeaderNames;
  /** `RETRY_AFTER_ENABLED`; undefined: only if a denying limit has the mode `ietf`. */
  readonly retryAfter: boolean | undefined;
}

/** The headers of one answer, in their order. */
export type HeadersOf = (decided: DecidedRequest) => readonly Header[];

/** Undefined if no answer ever gets such a header, so that answers skip it. */
export type OpenHeaders = (options: HeaderOptions) => HeadersOf | undefined;
