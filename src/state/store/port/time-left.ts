/** The deadline of one call, for its steps. Deadlines of commands are in `src/state/resilience/deadline.ts`. */

import { monotonicNowMs, readTimeout } from '../../../lib/clock';
import { StoreError, type StoreErrorReason } from './store-error';

/** Reserved for the answer to reach the caller in time, in milliseconds. */
export const ANSWER_MS = 5;

export class TimeLeft {
  private readonly endMs: number;

  constructor(private readonly timeoutMs: number) {
    this.endMs = monotonicNowMs() + timeoutMs;
  }

  /** In whole milliseconds, rounded up. Throws StoreError if no time is left: nothing was sent since the last step. */
  ms(): number {
    const leftMs = Math.ceil(this.endMs - monotonicNowMs());
    if (leftMs <= 0) throw lateError(this.timeoutMs, 'timeout', { mayHaveRun: false });
    return leftMs;
  }
}

/** The result of the promise, or a StoreError after the timeout. `mayHaveRun`: the call has been sent. */
export async function within<T>(
  promise: Promise<T>,
  timeoutMs: number,
  { mayHaveRun = false }: { readonly mayHaveRun?: boolean } = {},
): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = readTimeout(timeoutMs, () => {
      reject(lateError(timeoutMs, 'timeout', { mayHaveRun }));
    });
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

export function lateError(timeoutMs: number, reason: StoreErrorReason, options: { readonly mayHaveRun: boolean }): StoreError {
  return new StoreError(`the store did not answer within ${timeoutMs} ms`, reason, options);
}
