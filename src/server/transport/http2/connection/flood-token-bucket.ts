/** The token bucket of the flood guard: a burst, and a refill rate per second. */

export interface FloodTokenBucketOptions {
  readonly burst: number;
  readonly perSecond: number;
}

export class FloodTokenBucket {
  private left: number;
  private refilledMs: number;

  constructor(
    private readonly options: FloodTokenBucketOptions,
    private readonly nowMs: () => number,
  ) {
    this.left = options.burst;
    this.refilledMs = nowMs();
  }

  /** Takes a token; false if there was none. The clock is read only when the bucket seems empty. */
  use(): boolean {
    if (this.left < 1) this.refill();
    if (this.left < 1) return false;
    this.left -= 1;
    return true;
  }

  /** Adds tokens for useful work. */
  earn(count: number): void {
    this.left = Math.min(this.options.burst, this.left + count);
  }

  private refill(): void {
    const now = this.nowMs();
    this.earn(((now - this.refilledMs) / 1000) * this.options.perSecond);
    this.refilledMs = now;
  }
}
