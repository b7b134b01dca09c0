/** Lapses reservations whose time is over: once a second, of each hash tag that this instance has heard of. */

import type { Reservations } from './reservations';

/** How late hits that lapse may be given back, in milliseconds. */
export const SWEEP_MS = 1_000;

/** Most tags that are swept; beyond it the one not heard of longest is swept by whoever reserves there next. */
const TAGS_MAX = 10_000;

/** Tags that are swept at the same time. */
const SWEPT_TOGETHER = 16;

export interface SweeperOptions {
  readonly reservations: Reservations;
  /** Tags that are swept whether anything has been heard of them or not. */
  readonly tags: () => readonly string[];
  /** Told after each round how many reservations are held. */
  readonly onHeld: (held: number) => void;
}

/** Several instances may sweep one tag: each reservation lapses once. */
export class Sweeper {
  /** The one heard of longest ago first; how often any had been heard of by then. */
  private readonly tags = new Map<string, number>();
  private heard = 0;
  private timer: NodeJS.Timeout | undefined;
  private isSweeping = false;

  constructor(private readonly options: SweeperOptions) {}

  start(): void {
    this.timer = setInterval(() => {
      void this.sweepAll();
    }, SWEEP_MS).unref();
  }

  stop(): void {
    clearInterval(this.timer);
  }

  hear(tag: string): void {
    this.tags.delete(tag);
    this.heard += 1;
    this.tags.set(tag, this.heard);
    const [oldest] = this.tags.keys();
    if (this.tags.size > TAGS_MAX && oldest !== undefined) this.tags.delete(oldest);
  }

  /** A round that takes longer than a second makes the next one wait. */
  async sweepAll(): Promise<void> {
    if (this.isSweeping) return;
    this.isSweeping = true;
    const tags = [...new Set([...this.options.tags(), ...this.tags.keys()])];
    let held = 0;
    try {
      for (let from = 0; from < tags.length; from += SWEPT_TOGETHER) {
        const counts = await Promise.all(tags.slice(from, from + SWEPT_TOGETHER).map((tag) => this.sweep(tag)));
        for (const count of counts) held += count ?? 0;
      }
    } finally {
      this.isSweeping = false;
    }
    this.options.onHeld(held);
  }

  /** While Redis is away nothing lapses there; it does once it is back. A tag without reservations is swept no more until one is heard of. */
  private async sweep(tag: string): Promise<number | undefined> {
    const heard = this.tags.get(tag);
    const held = await this.options.reservations.sweep(tag).catch(() => undefined);
    // What was heard of it meanwhile may have come too late to be seen.
    if (held === 0 && this.tags.get(tag) === heard) this.tags.delete(tag);
    return held;
  }
}
