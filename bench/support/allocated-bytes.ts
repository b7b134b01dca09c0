/** Counts the bytes that a piece of work allocates, as long as nothing is collected meanwhile. */

import { PerformanceObserver } from 'node:perf_hooks';

export interface Allocation<T> {
  readonly result: T;
  /** Heap and buffers; undefined if a collection fell into the work, since what it freed is not known. */
  readonly bytes: number | undefined;
}

/**
 * Collects all garbage, runs the work, and takes the growth of this process's memory for what was allocated. That
 * holds only while the young generation is large enough for all of it; `scripts/bench.mjs` makes it so.
 */
export async function countAllocated<T>(work: () => Promise<T>): Promise<Allocation<T>> {
  if (gc === undefined) throw new Error('Bytes can be counted only under `node --expose-gc`; start this with scripts/bench.mjs.');
  gc();
  let collections = 0;
  const observer = new PerformanceObserver((list) => {
    collections += list.getEntries().length;
  });
  // What was collected just now is told late: let it come before the observer listens.
  await nextTurn();
  observer.observe({ entryTypes: ['gc'] });
  const before = bytesHeld();
  const result = await work();
  const bytes = bytesHeld() - before;
  collections += observer.takeRecords().length;
  observer.disconnect();
  return { result, bytes: collections === 0 ? bytes : undefined };
}

function bytesHeld(): number {
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
