/** A stream of server-sent events of the admin API, which says too what the server dropped. */

import { awaySince, problemOf, urlOf, type Input, type Reply } from './client';
import { ApiError } from './problem';

export interface StreamHandlers<Event> {
  readonly onOpen: () => void;
  readonly onEvent: (event: Event) => void;
  /** Events that were dropped, because they came faster than they were read. */
  readonly onDropped: (count: number) => void;
}

/** Longest text without the end of an event. */
const EVENT_CHARS_MAX = 262_144;

const DROPPED = /^: (\d+) event\(s\) dropped/;

/** Resolves when the server ends the stream. Rejects with ApiError, and when `signal` aborts. */
export async function followTail(
  input: Input<'tailDecisions'>,
  signal: AbortSignal,
  handlers: StreamHandlers<Reply<'tailDecisions'>>,
): Promise<void> {
  const response = await open(urlOf('tailDecisions', input), signal);
  if (!response.ok || response.body === null) throw problemOf(response, await response.json().catch(() => undefined));
  handlers.onOpen();
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { done, value } = await orAway(reader.read(), signal);
    if (done) return;
    const events = `${rest}${value}`.split('\n\n');
    rest = events.pop() ?? '';
    if (rest.length > EVENT_CHARS_MAX) throw new ApiError('refused', 'the admin API sent an event that is too long');
    for (const text of events) handle(text, handlers);
  }
}

async function open(url: string, signal: AbortSignal): Promise<Response> {
  const headers = { accept: 'text/event-stream' };
  const response = await orAway(fetch(url, { signal, headers, credentials: 'same-origin', redirect: 'error', cache: 'no-store' }), signal);
  // A proxy in between answers for an instance that is away.
  if (response.status === 502 || response.status === 504) await orAway(Promise.reject(new TypeError(`status ${response.status}`)), signal);
  awaySince.value = undefined;
  return response;
}

async function orAway<Result>(result: Promise<Result>, signal: AbortSignal): Promise<Result> {
  try {
    return await result;
  } catch (error) {
    if (signal.aborted) throw error;
    awaySince.value ??= Date.now();
    throw new ApiError('away', 'the admin API does not answer');
  }
}

function handle(text: string, { onEvent, onDropped }: StreamHandlers<Reply<'tailDecisions'>>): void {
  const dropped = DROPPED.exec(text)?.[1];
  if (dropped !== undefined) onDropped(Number(dropped));
  if (text.startsWith('data: ')) onEvent(JSON.parse(text.slice('data: '.length)) as Reply<'tailDecisions'>);
}
