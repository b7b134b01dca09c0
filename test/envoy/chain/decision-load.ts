/** Steady requests through an Envoy for a limit of 0: any that passes was not decided. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Caller, Gateway } from './gateway';

export interface LoadOptions {
  readonly caller: Caller;
  readonly path: string;
  /** How many requests run at the same time. */
  readonly clients: number;
  /** Of each client between two requests. */
  readonly pauseMs?: number;
}

/** Asks until stopped, and counts how the requests ended. */
export class DecisionLoad {
  readonly statuses: Record<number, number> = {};
  private isStopped = false;
  private readonly clients: Promise<unknown>;

  constructor(gateway: Gateway, { caller, path, clients, pauseMs = 0 }: LoadOptions) {
    this.clients = Promise.all(
      Array.from({ length: clients }, async () => {
        while (!this.isStopped) {
          const { status } = await gateway.get(path, caller);
          this.statuses[status] = (this.statuses[status] ?? 0) + 1;
          if (pauseMs > 0) await pause(pauseMs);
        }
      }),
    );
  }

  get requests(): number {
    return Object.values(this.statuses).reduce((sum, count) => sum + count, 0);
  }

  of(status: number): number {
    return this.statuses[status] ?? 0;
  }

  /** `20,205 x 429`. */
  describe(): string {
    return Object.entries(this.statuses)
      .map(([status, count]) => `${count.toLocaleString('en')} x ${status}`)
      .join(', ');
  }

  async stop(): Promise<void> {
    this.isStopped = true;
    await this.clients;
  }
}
