/** When the calls of an open loop are due: at an even rate, independent of the calls before. */

export class Schedule {
  private next = 0;
  private readonly total: number;

  constructor(private readonly options: { readonly startMs: number; readonly perSecond: number; readonly durationMs: number }) {
    this.total = Math.floor((options.perSecond * options.durationMs) / 1000);
  }

  /** Calls that are due by now and were not taken yet. */
  dueBy(nowMs: number): number {
    const { startMs, perSecond } = this.options;
    if (nowMs < startMs) return 0;
    const due = Math.floor(((nowMs - startMs) * perSecond) / 1000) + 1;
    return Math.max(0, Math.min(due, this.total) - this.next);
  }

  /** The next call's time; it counts as taken. */
  take(): number {
    const { startMs, perSecond } = this.options;
    const dueMs = startMs + (this.next * 1000) / perSecond;
    this.next += 1;
    return dueMs;
  }

  get isOver(): boolean {
    return this.next >= this.total;
  }
}
