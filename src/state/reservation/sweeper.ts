/** Lapses expired reservations when the first of a hash tag is due, for each hash tag that this instance has seen. */

import type { Reservations, Swept } from './reservations';

/** Interval at which this instance looks whether a lapse is due, in milliseconds. Nobody is asked if none is. */
const TICK_MS = 200;

/** Interval at which the store is asked for reservations of other instances, in milliseconds: theirs also lapse if they have ended. */
export const LOOK_MS = 5_000;

/** Pause after a failed sweep, in milliseconds. */
const PAUSE_MS = 1_000;

/** Maximum number of swept tags. Beyond it the least recently used tag is dropped; the next reservation there adds it again. */
const TAGS_MAX = 10_000;

/** Tags swept at the same time. */
const SWEPT_TOGETHER = 4;

export interface SweeperOptions {
  readonly reservations: Pick<Reservations, 'sweep'>;
  /** Tags in which reservations of any instance are looked for. */
  readonly tags: () => readonly string[];
  /** A monotonic clock, in milliseconds. */
  readonly nowMs: () => number;
  /** Called after each round with the number of held reservations. */
  readonly onHeld: (held: number) => void;
}

interface Watched {
  /** The time of the first lapse, as far as known. */
  dueMs: number;
  /** Reservations that were held at the last sweep. */
  held: number;
}

/** Several instances may sweep the same tag: each reservation still lapses once. */
export class Sweeper {
  /** Least recently used first. */
  private readonly tags = new Map<string, Watched>();
  /** No tag is due before. */
  private firstMs = Infinity;
  private lookMs = -Infinity;
  private timer: NodeJS.Timeout | undefined;
  private isSweeping = false;

  constructor(private readonly options: SweeperOptions) {}

  start(): void {
    this.timer = setInterval(() => {
      void this.sweepDue();
    }, TICK_MS).unref();
  }

  stop(): void {
    clearInterval(this.timer);
    this.timer = undefined;
    this.tags.clear();
  }

  /** A reservation of the tag lapses after that time, unless it is settled or extended. */
  touch(tag: string, { lapsesAfterMs }: { readonly lapsesAfterMs: number }): void {
    const watched = this.tags.get(tag) ?? { dueMs: Infinity, held: 0 };
    this.tags.delete(tag);
    this.tags.set(tag, watched);
    this.lower(watched, this.options.nowMs() + lapsesAfterMs);
    const [oldest] = this.tags.keys();
    if (this.tags.size > TAGS_MAX && oldest !== undefined) this.tags.delete(oldest);
  }

  /** Sweeps what is due, until nothing is. Does nothing while an earlier call does that. */
  async sweepDue(): Promise<void> {
    if (this.isSweeping) return;
    this.look();
    if (this.firstMs > this.options.nowMs()) return;
    this.isSweeping = true;
    try {
      for (let due = this.due(); due.length > 0; due = this.due()) {
        for (let from = 0; from < due.length; from += SWEPT_TOGETHER) {
          await Promise.all(due.slice(from, from + SWEPT_TOGETHER).map(([tag, watched]) => this.sweep(tag, watched)));
        }
      }
    } finally {
      this.isSweeping = false;
    }
    let held = 0;
    for (const watched of this.tags.values()) held += watched.held;
    this.options.onHeld(held);
  }

  /** Seldom: reservations of other instances may have come. */
  private look(): void {
    const nowMs = this.options.nowMs();
    if (nowMs < this.lookMs) return;
    this.lookMs = nowMs + LOOK_MS;
    for (const tag of this.options.tags()) this.touch(tag, { lapsesAfterMs: 0 });
  }

  private due(): readonly (readonly [string, Watched])[] {
    const nowMs = this.options.nowMs();
    const due: [string, Watched][] = [];
    this.firstMs = Infinity;
    for (const [tag, watched] of this.tags) {
      if (watched.dueMs <= nowMs) due.push([tag, watched]);
      else this.firstMs = Math.min(this.firstMs, watched.dueMs);
    }
    return due;
  }

  /** During an outage nothing lapses in Redis; it does afterwards. A tag without reservations is dropped until its next use. */
  private async sweep(tag: string, watched: Watched): Promise<void> {
    watched.dueMs = Infinity;
    const swept = await this.options.reservations.sweep(tag).catch((): Swept => ({ held: watched.held, firstAfterMs: PAUSE_MS }));
    watched.held = swept.held;
    if (swept.firstAfterMs !== undefined) this.lower(watched, this.options.nowMs() + swept.firstAfterMs);
    // The tag stays if a reservation was made meanwhile, since the sweep may have missed it.
    else if (watched.dueMs === Infinity && this.tags.get(tag) === watched) this.tags.delete(tag);
  }

  private lower(watched: Watched, dueMs: number): void {
    watched.dueMs = Math.min(watched.dueMs, dueMs);
    this.firstMs = Math.min(this.firstMs, watched.dueMs);
  }
}
