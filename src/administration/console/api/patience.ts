/** How long an answer is waited for: after some seconds the console says that the API is slow, and later it gives up. */

import { signal } from '@preact/signals';

/** An answer that takes longer is slow. */
export const SLOW_MS = 2_000;

/** An answer takes at most this. */
const TIMEOUT_MS = 15_000;

/** Whether an answer is overdue, or the last one was. */
export const isSlow = signal(false);

export interface Patience {
  /** Ends the request: nobody waits for the answer any more. */
  readonly signal: AbortSignal;
  /** Call it when the answer is there, or failed: timers and listeners would keep it in memory. */
  readonly end: (outcome: 'answered' | 'failed') => void;
}

export function waitPatiently(given: AbortSignal | undefined): Patience {
  const ended = new AbortController();
  let isOverdue = false;
  const slow = setTimeout(() => {
    isOverdue = true;
    isSlow.value = true;
  }, SLOW_MS);
  const last = setTimeout(() => {
    ended.abort(new DOMException(`no answer within ${TIMEOUT_MS} ms`, 'TimeoutError'));
  }, TIMEOUT_MS);
  const onGiven = (): void => {
    ended.abort(given?.reason);
  };
  if (given?.aborted === true) onGiven();
  given?.addEventListener('abort', onGiven);
  return {
    signal: ended.signal,
    end: (outcome) => {
      clearTimeout(slow);
      clearTimeout(last);
      given?.removeEventListener('abort', onGiven);
      // A failed request is away, or was given up: whether the API is slow is still as it was.
      if (outcome === 'answered') isSlow.value = isOverdue;
    },
  };
}
