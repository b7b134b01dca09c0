/** The thread of a pacer: sleeps until each tick is due, and says so. */

import { parentPort, workerData } from 'node:worker_threads';
import type { PacerData } from './pacer';

const { periodMs, end } = workerData as PacerData;

for (let dueMs = performance.now(); Atomics.load(end, 0) === 0; dueMs += periodMs) {
  const leftMs = dueMs - performance.now();
  // A sleep of whole milliseconds would do for a timer; this one has microseconds.
  if (leftMs > 0) Atomics.wait(end, 0, 0, leftMs);
  else dueMs -= leftMs;
  parentPort?.postMessage(undefined);
}
