/** How long to wait before the next try: longer each time, up to a bound, and not the same for all. */

export interface BackoffOptions {
  readonly maxMs: number;
  /** Each wait is so many times the one before: 1 at least. */
  readonly factor: number;
  /** Whether a wait is drawn from its upper half, so that many clients of a server that is back do not come at once. */
  readonly jitter: boolean;
  /** From 0 up to, not including, 1. */
  readonly random: () => number;
}

export class Backoff {
  private failures = 0;

  constructor(private readonly options: BackoffOptions) {}

  /** The wait after one more failure, in milliseconds; `firstMs` is what the first one of that kind would be. */
  nextMs(firstMs: number): number {
    const { maxMs, factor, jitter, random } = this.options;
    const waitMs = Math.min(firstMs * factor ** this.failures, maxMs);
    this.failures += 1;
    return jitter ? (waitMs / 2) * (1 + random()) : waitMs;
  }

  /** After a success. */
  reset(): void {
    this.failures = 0;
  }
}
