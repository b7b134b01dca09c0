/** How much of what costs us more than its sender a connection may send: so many at once, and so many more each second. */

export interface AllowanceOptions {
  readonly burst: number;
  readonly perSecond: number;
}

export class Allowance {
  private left: number;
  private refilledMs: number;

  constructor(
    private readonly options: AllowanceOptions,
    private readonly nowMs: () => number,
  ) {
    this.left = options.burst;
    this.refilledMs = nowMs();
  }

  /** Whether there was one left. The clock is looked at only when there seems to be none. */
  use(): boolean {
    if (this.left < 1) this.refill();
    if (this.left < 1) return false;
    this.left -= 1;
    return true;
  }

  /** For useful work in between. */
  earn(count: number): void {
    this.left = Math.min(this.options.burst, this.left + count);
  }

  private refill(): void {
    const now = this.nowMs();
    this.earn(((now - this.refilledMs) / 1000) * this.options.perSecond);
    this.refilledMs = now;
  }
}
