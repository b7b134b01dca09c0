/** A clock that a test moves, with the timers that are set on it. */

import { setImmediate as nextTurnOfLoop } from 'node:timers/promises';
import type { WaitClock } from '../../../src/program/library/wait/wait-clock';

interface Timer {
  readonly atMs: number;
  readonly call: () => void;
}

/** Turns of the event loop after which what a timer began has ended: answers are promises, and long lines pause between answers. */
const TURNS_MAX = 100_000;

export class ManualClock implements WaitClock {
  private ms = 1_000;
  private readonly timers = new Set<Timer>();
  /** The most timers that there were at once. */
  timersMax = 0;

  readonly nowMs = (): number => this.ms;

  readonly nowUs = (): number => Math.floor(this.ms * 1_000);

  readonly after = (ms: number, call: () => void): (() => void) => {
    const timer = { atMs: this.ms + ms, call };
    this.timers.add(timer);
    this.timersMax = Math.max(this.timersMax, this.timers.size);
    return () => {
      this.timers.delete(timer);
    };
  };

  get timerCount(): number {
    return this.timers.size;
  }

  /** Moves in one step, over all timers. */
  step(ms: number): void {
    this.ms += ms;
    this.fire();
  }

  /** Moves from timer to timer, and lets the process work at each. */
  async advance(ms: number, { settled }: { readonly settled: () => unknown }): Promise<void> {
    const endMs = this.ms + ms;
    await this.rest(settled);
    for (let next = this.nextMs(); next <= endMs; next = this.nextMs()) {
      this.ms = Math.max(this.ms, next);
      this.fire();
      await this.rest(settled);
    }
    this.ms = endMs;
  }

  /** Waits until nothing changes any more. `settled`: what has ended until now. */
  async rest(settled: () => unknown): Promise<void> {
    let last: unknown;
    for (let turn = 0; turn < TURNS_MAX; turn += 1) {
      const seen = JSON.stringify(settled());
      // Promises of one turn have ended at the next one; a line pauses for one turn.
      if (turn > 2 && seen === last) return;
      last = seen;
      await nextTurnOfLoop();
    }
    throw new Error(`the process did not come to rest in ${TURNS_MAX} turns`);
  }

  private nextMs(): number {
    return Math.min(Infinity, ...[...this.timers].map(({ atMs }) => atMs));
  }

  private fire(): void {
    for (const timer of [...this.timers].filter(({ atMs }) => atMs <= this.ms)) {
      this.timers.delete(timer);
      timer.call();
    }
  }
}
