/** Wakes this thread at a rate, more exactly than timers do: their unit is the millisecond. */

import { once } from 'node:events';
import path from 'node:path';
import { Worker } from 'node:worker_threads';
import { LOAD_TYPESCRIPT } from '../support/load-typescript';

export interface PacerData {
  readonly periodMs: number;
  /** Its first number is 1 once the pacer is to end. */
  readonly end: Int32Array;
}

export interface Pacer {
  /** From now on. */
  onTick(tick: () => void): void;
  end(): void;
}

/** Resolves once it ticks: until then it is being compiled, on the core of whatever shares it. */
export async function startPacer({ perSecond }: { readonly perSecond: number }): Promise<Pacer> {
  const end = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  const workerData: PacerData = { periodMs: 1000 / perSecond, end };
  const worker = new Worker(path.join(__dirname, 'pacer-thread.ts'), { workerData, execArgv: LOAD_TYPESCRIPT });
  await once(worker, 'message');
  return {
    onTick: (tick) => {
      worker.on('message', tick);
    },
    end: () => {
      worker.removeAllListeners('message');
      Atomics.store(end, 0, 1);
      Atomics.notify(end, 0);
    },
  };
}
