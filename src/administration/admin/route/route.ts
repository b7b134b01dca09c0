/** A route of the admin API: one row of the table that makes the server's routes, the OpenAPI document and the docs page. */

import type { Static, TSchema } from '@sinclair/typebox';
import type { AdminBackend } from '../backend';
import type { ProblemName } from '../problem';
import type { Caller, Role } from '../role';

export type Method = 'GET' | 'PUT' | 'POST' | 'DELETE';

/** Preconditions that a route honours. */
export type Condition =
  /** The reply has an ETag, and If-None-Match gets 304. */
  | 'read'
  /** If-Match and If-None-Match: * must hold for the write. */
  | 'write';

export interface RouteDefinition<Params extends TSchema, Query extends TSchema, Body extends TSchema, Reply extends TSchema> {
  readonly method: Method;
  /** As in OpenAPI: `/v1/tenants/{domain}/{tenant}`. */
  readonly path: string;
  /** Unique; names the operation in generated clients. */
  readonly id: string;
  /** The chapter of the docs page. */
  readonly tag: string;
  readonly role: Role;
  /** A sentence for the documentation. */
  readonly summary: string;
  readonly params?: Params;
  readonly query?: Query;
  readonly body?: Body;
  readonly reply: Reply;
  readonly condition?: Condition;
  /** Pages of ADMIN_USAGE_ORIGINS may call it. */
  readonly isForPages?: boolean;
  /** Accepts Idempotency-Key. */
  readonly isIdempotentByKey?: boolean;
  /** Problems beside those of every route. */
  readonly problems?: readonly ProblemName[];
  readonly handle: (
    call: AdminCall<Static<Params>, Static<Query>, Static<Body>>,
    backend: AdminBackend,
  ) => Promise<AdminReply<Static<Reply>>>;
}

export interface AdminCall<Params = unknown, Query = unknown, Body = unknown> {
  readonly params: Params;
  readonly query: Query;
  readonly body: Body;
  readonly caller: Caller;
  readonly session: SessionDesk;
  readonly headers: CallHeaders;
  /** Most items of a page. */
  readonly pageMax: number;
}

/** The session of the browser that calls. */
export interface SessionDesk {
  /** False: everyone on this machine may do everything (ADMIN_AUTH=off). */
  readonly needsSignIn: boolean;
  /** Undefined: the call has other credentials. */
  readonly current: { readonly csrf: string; readonly restMs: number } | undefined;
  /** Opens one for the credentials of the call; undefined: the call has none of its own. */
  open(): { readonly id: string; readonly csrf: string; readonly restMs: number } | undefined;
  end(): void;
}

export interface CallHeaders {
  readonly ifMatch?: string;
  readonly ifNoneMatch?: string;
  readonly idempotencyKey?: string;
  readonly accept?: string;
}

export type AdminReply<Body = unknown> =
  | {
      readonly body: Body;
      readonly etag?: string;
      /** The identifier of the session for the cookie; empty: the cookie is removed. */
      readonly sessionId?: string;
    }
  /** Lines of JSON (application/x-ndjson). */
  | { readonly lines: AsyncIterable<unknown> }
  /** Server-sent events. The opener calls `emit` until `close` is called. */
  | { readonly events: (emit: (event: unknown) => void) => { readonly close: () => void } };

export interface AdminRoute extends Omit<RouteDefinition<TSchema, TSchema, TSchema, TSchema>, 'handle'> {
  readonly handle: (call: AdminCall, backend: AdminBackend) => Promise<AdminReply>;
}

/** Checks the types of a row, and forgets them: the server validates every input by its schema before the handler runs. */
export function route<Params extends TSchema, Query extends TSchema, Body extends TSchema, Reply extends TSchema>(
  definition: RouteDefinition<Params, Query, Body, Reply>,
): AdminRoute {
  return definition;
}
