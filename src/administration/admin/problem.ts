/** Errors of the admin API as problem details (RFC 9457). */

import type { Warning } from './effect/warning';

/** By name, which ends the `type`: status, title, and when it is answered. */
export const PROBLEMS = {
  invalid: [400, 'The request is invalid', 'a parameter, a header or a field of the body is invalid; `errors` names each field'],
  unauthenticated: [401, 'Credentials are missing or invalid', 'the request has no bearer token, or one that is unknown or expired'],
  forbidden: [403, 'The role does not allow this', "the caller's role is lower than that of the route"],
  'not-found': [404, 'There is nothing here', 'the path, or the item that it names, does not exist'],
  'method-not-allowed': [405, 'The path has other methods', 'the path exists, but not with this method'],
  conflict: [
    409,
    'The request contradicts the present state',
    'it names a domain, plan or limit that the configuration in force does not have',
  ],
  'without-effect': [
    409,
    'The write would have no effect, or only a part of it',
    'with `strict=true`; `warnings` says why, and nothing was written',
  ],
  'precondition-failed': [412, 'The item has changed', 'If-Match names another version, or If-None-Match: * an item that exists'],
  'body-too-large': [413, 'The body is too large', 'it exceeds ADMIN_BODY_BYTES_MAX'],
  'unsupported-media-type': [415, 'The body is not JSON', 'Content-Type is not application/json'],
  misdirected: [421, 'The host is not this machine', 'with ADMIN_AUTH=off, Host is not a loopback name'],
  'idempotency-key-reused': [422, 'The Idempotency-Key belongs to another request', 'the same caller used the key for another request'],
  'too-many-failed-tries': [429, 'Too many failed tries', 'see ADMIN_FAILED_TRIES_MAX; Retry-After says when the next try is allowed'],
  'too-many-streams': [429, 'Too many live tails', 'ADMIN_STREAMS_MAX are open'],
  internal: [500, 'An internal error', 'a bug of Weir; the log has the cause'],
  'not-supported': [501, 'This store cannot do that', 'the store or its form (Redis Cluster) does not support the operation'],
  unavailable: [503, 'A part is unavailable', 'the store is unreachable, or no configuration is loaded yet'],
} as const satisfies Readonly<Record<string, readonly [status: number, title: string, when: string]>>;

export type ProblemName = keyof typeof PROBLEMS;

/** An invalid field: `body/entries/0/key`, `query/limit`, `header/if-match`. */
export interface FieldError {
  readonly field: string;
  readonly problem: string;
}

interface ProblemExtras {
  readonly warnings?: readonly Warning[];
  readonly errors?: readonly FieldError[];
  readonly retryAfterS?: number;
}

/** Ends a request with a problem. Texts never contain secrets. */
export class AdminProblem extends Error {
  override readonly name = 'AdminProblem';
  readonly errors: readonly FieldError[] | undefined;
  readonly retryAfterS: number | undefined;
  readonly warnings: readonly Warning[] | undefined;

  constructor(
    readonly problem: ProblemName,
    readonly detail: string,
    { errors, retryAfterS, warnings }: ProblemExtras = {},
  ) {
    super(detail);
    this.errors = errors;
    this.retryAfterS = retryAfterS;
    this.warnings = warnings;
  }

  /** One invalid field. */
  static ofField(field: string, problem: string): AdminProblem {
    return new AdminProblem('invalid', `${field}: ${problem}`, { errors: [{ field, problem }] });
  }

  get status(): number {
    return PROBLEMS[this.problem][0];
  }

  /** The body of the reply. */
  toDetails(): ProblemDetails {
    const [status, title] = PROBLEMS[this.problem];
    const { problem, detail, errors, warnings } = this;
    return {
      type: `urn:weir:problem:${problem}`,
      title,
      status,
      detail,
      ...(errors && { errors: [...errors] }),
      ...(warnings && { warnings: [...warnings] }),
    };
  }
}

export interface ProblemDetails {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly errors?: readonly FieldError[];
  readonly warnings?: readonly Warning[];
}
