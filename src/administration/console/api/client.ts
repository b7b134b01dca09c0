/** Calls of the admin API: one typed call for each operation. */

import { signal } from '@preact/signals';
import { OPERATIONS, type Operations } from '../../admin-client/operations';
import { waitPatiently } from './patience';
import { ApiError, type FieldError } from './problem';

export type OperationId = keyof Operations;

export type Input<Id extends OperationId> = Omit<Operations[Id], 'reply'>;

export type Reply<Id extends OperationId> = Operations[Id]['reply'];

/** Whether the admin API answers, and since when not. */
export const awaySince = signal<number | undefined>(undefined);

/** The CSRF token of the session; undefined: there is none, or none is needed. */
export const csrf = signal<string | undefined>(undefined);

/** Called for answers that end the session, and for refusals by role. */
export const onRefusal = signal<(failure: 'signed-out' | 'forbidden') => void>(() => undefined);

interface Parts {
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>;
  readonly body?: unknown;
}

export interface CallOptions {
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

export async function call<Id extends OperationId>(id: Id, input: Input<Id>, options: CallOptions = {}): Promise<Reply<Id>> {
  const { method } = OPERATIONS[id];
  const { body } = input as Parts;
  const patience = waitPatiently(options.signal);
  let outcome: 'answered' | 'failed' = 'failed';
  try {
    const { response, json } = await send(urlOf(id, input), {
      method,
      credentials: 'same-origin',
      redirect: 'error',
      cache: 'no-store',
      headers: {
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(method !== 'GET' && csrf.value !== undefined && { 'x-weir-csrf': csrf.value }),
        ...options.headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      signal: patience.signal,
    });
    outcome = 'answered';
    if (response.ok) return json as Reply<Id>;
    throw problemOf(response, json);
  } finally {
    patience.end(outcome);
  }
}

export function urlOf<Id extends OperationId>(id: Id, input: Input<Id>): string {
  const { params = {}, query = {} } = input as Parts;
  const path = OPERATIONS[id].path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name] ?? ''));
  const given = Object.entries(query).filter((each): each is [string, string | number | boolean] => each[1] !== undefined);
  const search = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return search === '' ? path : `${path}?${search}`;
}

interface Answer {
  readonly response: Response;
  /** Empty: the body is not JSON. */
  readonly json: unknown;
}

async function send(url: string, init: RequestInit): Promise<Answer> {
  try {
    const response = await fetch(url, init);
    // A proxy in between answers for an instance that is away.
    if (response.status === 502 || response.status === 504) throw new TypeError(`status ${response.status}`);
    const text = await response.text();
    awaySince.value = undefined;
    return { response, json: parse(text) };
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error;
    awaySince.value ??= Date.now();
    throw new ApiError('away', 'the admin API does not answer');
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}

export function problemOf(response: Response, json: unknown): ApiError {
  const { status } = response;
  const {
    detail,
    errors,
    type = '',
  } = (json ?? {}) as {
    readonly detail?: string;
    readonly type?: string;
    readonly errors?: readonly FieldError[];
  };
  const message = detail ?? `the admin API answered ${status}`;
  const retryAfter = response.headers.get('retry-after');
  const details = { status, ...(errors && { errors }), ...(retryAfter !== null && { retryAfterS: Number(retryAfter) }) };
  if (status === 401) onRefusal.value('signed-out');
  if (status === 403) onRefusal.value('forbidden');
  if (status === 401) return new ApiError('signed-out', message, details);
  if (status === 403) return new ApiError('forbidden', message, details);
  return new ApiError(type.endsWith(':unavailable') ? 'unavailable' : 'refused', message, details);
}
