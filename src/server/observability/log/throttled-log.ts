/** Throttled logging: one message per kind and minute, with the number of suppressed ones. */

/** Minimum time between two messages of a kind. */
export const THROTTLE_MS = 60_000;

/** Each message may have details; those of suppressed messages are dropped. */
export class ThrottledLog<Details = void> {
  private readonly lastMs = new Map<string, number>();
  private readonly left = new Map<string, number>();

  /** `kind` values must be few and fixed, since each is remembered. */
  constructor(private readonly options: { readonly write: (sentence: string, details: Details) => void; readonly nowMs: () => number }) {}

  /** Logs or suppresses a message. On hot paths pass a function: it is called only for a message that is logged. */
  log(kind: string, sentence: string | (() => string), details: Details): void {
    const nowMs = this.options.nowMs();
    const lastMs = this.lastMs.get(kind);
    const left = this.left.get(kind) ?? 0;
    if (lastMs !== undefined && nowMs - lastMs < THROTTLE_MS) {
      this.left.set(kind, left + 1);
      return;
    }
    this.lastMs.set(kind, nowMs);
    this.left.delete(kind);
    const text = typeof sentence === 'string' ? sentence : sentence();
    this.options.write(left === 0 ? text : `${text} (${left} similar messages suppressed)`, details);
  }
}
