/** Lapses expired reservations, once a second, for each hash tag that this instance has seen. */

import type { Reservations } from './reservations';

/** Maximum delay before lapsed hits return, in milliseconds. */
export const SWEEP_MS = 1_000;

/** Maximum number of swept tags. Beyond it the least recently used tag is dropped; the next reservation there adds it again. */
const TAGS_MAX = 10_000;

/** Tags swept at the same time. */
const SWEPT_TOGETHER = 16;

export interface SweeperOptions {
  readonly reservations: Reservations;
  /** Tags that are always swept. */
  readonly tags: () => readonly string[];
  /** Called after each round with the number of held reservations. */
  readonly onHeld: (held: number) => void;
}

/** Several instances may sweep the same tag: each reservation still lapses once. */
export class Sweeper {
  /** Tags, least recently used first, each with the counter at its last use. */
  private readonly tags = new Map<string, number>();
  private touches = 0;
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

  touch(tag: string): void {
    this.tags.delete(tag);
    this.touches += 1;
    this.tags.set(tag, this.touches);
    const [oldest] = this.tags.keys();
    if (this.tags.size > TAGS_MAX && oldest !== undefined) this.tags.delete(oldest);
  }

  /** A round that takes longer than a second delays the next one. */
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

  /** During an outage nothing lapses in Redis; it does afterwards. A tag without reservations is dropped until its next use. */
  private async sweep(tag: string): Promise<number | undefined> {
    const touched = this.tags.get(tag);
    const held = await this.options.reservations.sweep(tag).catch(() => undefined);
    // The tag stays if a reservation was made meanwhile, since the sweep may have missed it.
    if (held === 0 && this.tags.get(tag) === touched) this.tags.delete(tag);
    return held;
  }
}
