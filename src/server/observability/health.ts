/** The health of this instance, as every health check of every transport reports it. */

export type ServingStatus = 'SERVING' | 'NOT_SERVING';

/**
 * NOT_SERVING until there is a configuration: `serve` turns it on, `hold` off, and `startDrain` off for good.
 * Degradations are reported beside the status and never change it, because Weir still decides.
 */
export class Health {
  private ready = false;
  private draining = false;
  private readonly degraded = new Set<string>();
  private readonly listeners = new Set<(status: ServingStatus) => void>();

  get status(): ServingStatus {
    return this.ready && !this.draining ? 'SERVING' : 'NOT_SERVING';
  }

  /** One line each, such as `degraded: redis` or `config: last good`, in order of appearance. */
  get degradations(): readonly string[] {
    return [...this.degraded];
  }

  /** Turns the health on: there is a configuration to decide by. */
  serve(): void {
    this.change(() => {
      this.ready = true;
    });
  }

  /** Turns the health off: the configuration in force is not sufficient. */
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

  /** Calls the listener at each change of the status. The returned function ends that. */
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
