/** Exponential backoff with jitter: the wait before the next try grows up to a bound. */

export interface BackoffOptions {
  readonly maxMs: number;
  /** Factor between successive waits, at least 1. */
  readonly factor: number;
  /**
   * Returns a number from 0 up to, not including, 1, which selects a wait in its upper half. This spreads the clients of a server that
   * has recovered. Absent: each wait has its full length.
   */
  readonly random?: () => number;
}

/** The wait after a number of failures, in milliseconds; `firstMs` after none. */
export function backoffMs({ failures, firstMs, maxMs, factor, random }: BackoffInput): number {
  const waitMs = Math.min(firstMs * factor ** failures, maxMs);
  return random === undefined ? waitMs : (waitMs / 2) * (1 + random());
}

interface BackoffInput extends BackoffOptions {
  readonly failures: number;
  readonly firstMs: number;
}

/** Counts failures of all kinds. */
export class Backoff {
  private failures = 0;

  constructor(private readonly options: BackoffOptions) {}

  /** The wait after one more failure, in milliseconds; `firstMs` is the wait after a first failure of this kind. */
  nextMs(firstMs: number): number {
    const waitMs = backoffMs({ ...this.options, failures: this.failures, firstMs });
    this.failures += 1;
    return waitMs;
  }

  /** Starts again after a success. */
  reset(): void {
    this.failures = 0;
  }
}
