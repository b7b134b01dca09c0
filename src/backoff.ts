/** How long to wait before the next try: longer each time, up to a bound, and not the same for all. */

export interface BackoffOptions {
  readonly maxMs: number;
  /** Each wait is so many times the one before: 1 at least. */
  readonly factor: number;
  /**
   * From 0 up to, not including, 1: by it a wait is drawn from its upper half, so that many clients of a server that is back do
   * not come at once. Absent: each wait is as long as it may be.
   */
  readonly random?: () => number;
}

/** The wait after so many failures, in milliseconds: after none it is `firstMs`. */
export function backoffMs({ failures, firstMs, maxMs, factor, random }: BackoffInput): number {
  const waitMs = Math.min(firstMs * factor ** failures, maxMs);
  return random === undefined ? waitMs : (waitMs / 2) * (1 + random());
}

interface BackoffInput extends BackoffOptions {
  readonly failures: number;
  readonly firstMs: number;
}

/** Counts the failures, of whichever kind. */
export class Backoff {
  private failures = 0;

  constructor(private readonly options: BackoffOptions) {}

  /** The wait after one more failure, in milliseconds; `firstMs` is what the first one of that kind would be. */
  nextMs(firstMs: number): number {
    const waitMs = backoffMs({ ...this.options, failures: this.failures, firstMs });
    this.failures += 1;
    return waitMs;
  }

  /** After a success. */
  reset(): void {
    this.failures = 0;
  }
}
