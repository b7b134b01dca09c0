/** The interface of a kind of response headers. */

import type { Header } from '../../decide/decision';
import type { LimitForm, ResetForm, ResponseHeaders } from '../../rule/limit';
import type { DecidedRequest } from '../decided/decided-request';

/** `LIMIT_LIMIT_HEADER`, `LIMIT_REMAINING_HEADER` and `LIMIT_RESET_HEADER`. */
export interface HeaderNames {
  readonly limit: string;
  readonly remaining: string;
  readonly reset: string;
}

/** `LIMIT_LIMIT_FORM` and `LIMIT_RESET_FORM`. */
export interface HeaderForms {
  readonly limit: LimitForm;
  readonly reset: ResetForm;
}

export interface HeaderOptions {
  /** For limits without `response_headers`. */
  readonly mode: ResponseHeaders;
  /** All modes that a limit of the rules in force may have. */
  readonly modes: ReadonlySet<ResponseHeaders>;
  readonly headerNames: HeaderNames;
  readonly headerForms: HeaderForms;
  /** `RETRY_AFTER_ENABLED`; undefined: only if a denying limit has the mode `ietf`. */
  readonly retryAfter: boolean | undefined;
  /** `RETRY_AFTER_MS_ENABLED`. */
  readonly retryAfterMs: boolean;
}

/** The headers of one answer, in their order. */
export type HeadersOf = (decided: DecidedRequest) => readonly Header[];

/** Undefined if no answer ever gets such a header, so that answers skip it. */
export type OpenHeaders = (options: HeaderOptions) => HeadersOf | undefined;
