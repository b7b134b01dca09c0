/** A child process of a benchmark that runs the jobs it receives one after another, and replies to each. */

import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { LOAD_TYPESCRIPT } from './load-typescript';

export interface WorkerProcess<Job, Result> {
  readonly pid: number;
  run(job: Job): Promise<Result>;
  stop(): void;
}

/** `file` is relative to `bench/`. The process ends by itself when this one does. */
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
  return fork(path.join(__dirname, '..', file), args, { execArgv: LOAD_TYPESCRIPT });
}

/** The next message of the process. */
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
