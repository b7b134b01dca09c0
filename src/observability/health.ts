/** Whether Weir can decide, as every health check of every transport tells it. */

export type ServingStatus = 'SERVING' | 'NOT_SERVING';

/**
 * Starts NOT_SERVING, since there is no configuration yet; `serve` turns it on, `hold` off, and `startDrain` off for good. What
 * is degraded is told beside the status and never changes it: Weir still decides.
 */
export class Health {
  private ready = false;
  private draining = false;
  private readonly degraded = new Set<string>();
  private readonly listeners = new Set<(status: ServingStatus) => void>();

  get status(): ServingStatus {
    return this.ready && !this.draining ? 'SERVING' : 'NOT_SERVING';
  }

  /** One line each, such as `degraded: redis` or `config: last good`, in the order they came up. */
  get degradations(): readonly string[] {
    return [...this.degraded];
  }

  /** Says that there is a configuration to decide by. */
  serve(): void {
    this.change(() => {
      this.ready = true;
    });
  }

  /** Says that there is none any more, as whoever runs it counts it. */
  hold(): void {
    this.change(() => {
      this.ready = false;
    });
  }

  startDrain(): void {
    this.change(() => {
      this.draining = true;
    });
  }

  degrade(line: string): void {
    this.degraded.add(line);
  }

  recover(line: string): void {
    this.degraded.delete(line);
  }

  show(line: string, { isDegraded }: { readonly isDegraded: boolean }): void {
    if (isDegraded) this.degrade(line);
    else this.recover(line);
  }

  /** Calls the listener at each change of status, until the function it returns is called. */
  onChange(listener: (status: ServingStatus) => void): () => void {
    this.listeners.add(listener);
    return () => {
      this.listeners.delete(listener);
    };
  }

  private change(apply: () => void): void {
    const before = this.status;
    apply();
    const { status } = this;
    if (status === before) return;
    for (const listener of [...this.listeners]) listener(status);
  }
}
