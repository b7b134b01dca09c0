/** Says what may happen very often now and then: of each kind one, and how many more there were. */

/** At most one line of a kind in so long. */
export const SELDOM_MS = 60_000;

/** What is said may come with details, those of the one of its kind that is told. */
export class Seldom<Details = void> {
  private readonly lastMs = new Map<string, number>();
  private readonly left = new Map<string, number>();

  /** Kinds are few, and known beforehand. */
  constructor(private readonly options: { readonly say: (sentence: string, details: Details) => void; readonly nowMs: () => number }) {}

  say(kind: string, sentence: string, details: Details): void {
    const nowMs = this.options.nowMs();
    const lastMs = this.lastMs.get(kind);
    const left = this.left.get(kind) ?? 0;
    if (lastMs !== undefined && nowMs - lastMs < SELDOM_MS) {
      this.left.set(kind, left + 1);
      return;
    }
    this.lastMs.set(kind, nowMs);
    this.left.delete(kind);
    this.options.say(left === 0 ? sentence : `${sentence} (and ${left} more since the last line of this kind)`, details);
  }
}
