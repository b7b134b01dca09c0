/** Cooperative scheduling: runs long work in slices, and lets the event loop serve calls in between. */

import { setImmediate as nextTurn } from 'node:timers/promises';
import { monotonicNowMs } from './clock';

/** Length of a slice, in milliseconds, for urgent work such as a reload. */
const SLICE_MS = 4;

/** Length of a slice, in milliseconds, for work that nothing waits for: a call may be delayed by several slices. */
export const SHORT_SLICE_MS = 0.5;

/** Measures slices, and starts the next one in another turn of the event loop. */
export class Pace {
  private begunMs = monotonicNowMs();

  constructor(private readonly sliceMs = SLICE_MS) {}

  get isOver(): boolean {
    return monotonicNowMs() - this.begunMs >= this.sliceMs;
  }

  async nextSlice(): Promise<void> {
    await nextTurn();
    this.begunMs = monotonicNowMs();
  }
}

/** Runs the steps in slices and resolves to their result. Rejects with the error of a step. */
export async function runInSlices<T>(steps: Generator<undefined, T>, pace = new Pace()): Promise<T> {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    if (pace.isOver) await pace.nextSlice();
  }
}

/** Runs all steps without yielding, where nothing waits. */
export function atOnce<T>(steps: Generator<undefined, T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}
