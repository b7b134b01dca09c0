/** The time left for the steps of one call. */

import { StoreError } from './store';

/** Reserved for the answer to reach the caller in time, in milliseconds. */
export const ANSWER_MS = 5;

export class TimeLeft {
  private readonly endMs: number;

  constructor(private readonly timeoutMs: number) {
    this.endMs = performance.now() + timeoutMs;
  }

  /** In whole milliseconds, rounded up. Throws StoreError if no time is left. */
  ms(): number {
    const leftMs = Math.ceil(this.endMs - performance.now());
    if (leftMs <= 0) throw tooLate(this.timeoutMs, { mayHaveRun: false });
    return leftMs;
  }

  /** Throws StoreError if no time is left. */
  check(): void {
    this.ms();
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
    // Timers run before input is read, so an unread answer in the socket still counts.
    timer = setTimeout(
      () =>
        setImmediate(() => {
          reject(tooLate(timeoutMs, { mayHaveRun }));
        }),
      timeoutMs,
    );
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** By default nothing has been sent: time is usually checked before a step, while waiting for an earlier one. */
function tooLate(timeoutMs: number, { mayHaveRun }: { readonly mayHaveRun: boolean }): StoreError {
  return new StoreError(`the store did not answer within ${timeoutMs} ms`, 'timeout', { mayHaveRun });
}
