/** Long work in slices: calls that have come meanwhile are answered between them. */

import { setImmediate as nextTurn } from 'node:timers/promises';

/** How long is worked at a stretch. */
const SLICE_MS = 4;

/** Takes the steps one by one, and resolves to what they return. Rejects with what one of them throws. */
export async function inSlices<T>(steps: Generator<undefined, T>): Promise<T> {
  let begunMs = performance.now();
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    if (performance.now() - begunMs < SLICE_MS) continue;
    await nextTurn();
    begunMs = performance.now();
  }
}
