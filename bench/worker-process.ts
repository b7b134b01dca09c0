/** A process of a benchmark that does one job after another, as it is told, and answers each. */

import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { LOAD_TYPESCRIPT } from './load-typescript';

export interface WorkerProcess<Job, Result> {
  readonly pid: number;
  run(job: Job): Promise<Result>;
  stop(): void;
}

/** `file` is seen from here. The process ends by itself when this one does. */
export function startWorker<Job extends object, Result>(file: string, args: readonly string[] = []): WorkerProcess<Job, Result> {
  const child = forkTypeScript(file, args);
  return {
    pid: child.pid!,
    run: async (job) => {
      child.send(job);
      return (await nextMessage(child, file)) as Result;
    },
    stop: () => {
      child.disconnect();
    },
  };
}

export function forkTypeScript(file: string, args: readonly string[] = []): ChildProcess {
  return fork(path.join(__dirname, file), args, { execArgv: LOAD_TYPESCRIPT });
}

/** What the process says next. */
export async function nextMessage(child: ChildProcess, name: string): Promise<unknown> {
  const stop = new AbortController();
  const { signal } = stop;
  const ended = once(child, 'exit', { signal }).then(() => {
    throw new Error(`${name} ended`);
  });
  const said = once(child, 'message', { signal }).then(([message]: unknown[]) => message);
  try {
    return await Promise.race([said, ended]);
  } finally {
    stop.abort();
    await Promise.allSettled([said, ended]);
  }
}
