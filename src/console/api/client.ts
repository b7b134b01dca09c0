/** Calls of the admin API: one typed call for each operation. */

import { signal } from '@preact/signals';
import { OPERATIONS, type Operations } from '../../admin-client/operations';
import { ApiError, type FieldError } from './problem';

export type OperationId = keyof Operations;

export type Input<Id extends OperationId> = Omit<Operations[Id], 'reply'>;

export type Reply<Id extends OperationId> = Operations[Id]['reply'];

/** An answer takes at most this, in milliseconds. */
const TIMEOUT_MS = 15_000;

/** An answer that takes longer is slow, and the console says so. */
export const SLOW_MS = 2_000;

/** Whether the admin API answers, and since when not. */
export const awaySince = signal<number | undefined>(undefined);

/** Whether an answer is overdue, or the last one was. */
export const isSlow = signal(false);

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
  const response = await send(urlOf(id, input), {
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
    signal:
      options.signal === undefined ? AbortSignal.timeout(TIMEOUT_MS) : AbortSignal.any([options.signal, AbortSignal.timeout(TIMEOUT_MS)]),
  });
  if (response.ok) return (await response.json()) as Reply<Id>;
  throw await problemOf(response);
}

export function urlOf<Id extends OperationId>(id: Id, input: Input<Id>): string {
  const { params = {}, query = {} } = input as Parts;
  const path = OPERATIONS[id].path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name] ?? ''));
  const given = Object.entries(query).filter((each): each is [string, string | number | boolean] => each[1] !== undefined);
  const search = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return search === '' ? path : `${path}?${search}`;
}

async function send(url: string, init: RequestInit): Promise<Response> {
  let isOverdue = false;
  const timer = setTimeout(() => {
    isOverdue = true;
    isSlow.value = true;
  }, SLOW_MS);
  try {
    const response = await fetch(url, init);
    isSlow.value = isOverdue;
    // A proxy in between answers for an instance that is away.
    if (response.status === 502 || response.status === 504) throw new TypeError(`status ${response.status}`);
    awaySince.value = undefined;
    return response;
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error;
    awaySince.value ??= Date.now();
    isSlow.value = false;
    throw new ApiError('away', 'the admin API does not answer');
  } finally {
    clearTimeout(timer);
  }
}

async function problemOf(response: Response): Promise<ApiError> {
  const { status } = response;
  const {
    detail,
    errors,
    type = '',
  } = (await response.json().catch(() => ({}))) as {
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
