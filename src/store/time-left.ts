/** What is left of the time that the steps of one call share. */

import { StoreError } from './store';

export class TimeLeft {
  private readonly endMs: number;

  constructor(private readonly timeoutMs: number) {
    this.endMs = performance.now() + timeoutMs;
  }

  /** In whole milliseconds, rounded up. Throws StoreError when there is none. */
  ms(): number {
    const leftMs = Math.ceil(this.endMs - performance.now());
    if (leftMs <= 0) throw tooLate(this.timeoutMs, { mayHaveRun: false });
    return leftMs;
  }

  /** Throws StoreError when there is none. */
  check(): void {
    this.ms();
  }
}

/** What the promise comes to, or a StoreError when it takes too long. `mayHaveRun`: what is waited for has been sent. */
export async function within<T>(promise: Promise<T>, timeoutMs: number, { mayHaveRun = false }: { readonly mayHaveRun?: boolean } = {}): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => { reject(tooLate(timeoutMs, { mayHaveRun })); }, timeoutMs);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Mostly time is asked for before a step, and waited for what comes before it: nothing has been sent. */
function tooLate(timeoutMs: number, { mayHaveRun }: { readonly mayHaveRun: boolean }): StoreError {
  return new StoreError(`the store did not answer within ${timeoutMs} ms`, 'timeout', { mayHaveRun });
}
