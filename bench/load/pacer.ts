/** Wakes this thread so many times a second, more exactly than timers do: their unit is the millisecond. */

import path from 'node:path';
import { Worker } from 'node:worker_threads';
import { LOAD_TYPESCRIPT } from '../load-typescript';

export interface PacerData {
  readonly periodMs: number;
  /** Its first number is 1 once the pacer is to end. */
  readonly end: Int32Array;
}

/** Answers what ends it. */
export function startPacer({ perSecond, onTick }: { readonly perSecond: number; readonly onTick: () => void }): () => void {
  const end = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  const workerData: PacerData = { periodMs: 1000 / perSecond, end };
  const worker = new Worker(path.join(__dirname, 'pacer-thread.ts'), { workerData, execArgv: LOAD_TYPESCRIPT });
  worker.on('message', onTick);
  return () => {
    worker.off('message', onTick);
    Atomics.store(end, 0, 1);
    Atomics.notify(end, 0);
  };
}
