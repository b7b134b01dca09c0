/** Where and when a benchmark ran: what a reader has to know before believing a figure. */

import { cpus, loadavg } from 'node:os';

export interface Environment {
  readonly date: string;
  readonly node: string;
  readonly redis: string;
  readonly cores: number;
  readonly processor: string;
}

export function describeEnvironment({ redis }: { readonly redis: string }): Environment {
  const cores = cpus();
  return {
    date: new Date().toISOString().slice(0, 10),
    node: process.versions.node,
    redis,
    cores: cores.length,
    processor: cores[0]?.model.trim() ?? 'unknown',
  };
}

/** Processes that ran or waited to run, as a mean of the last minute: what else the machine had to do. */
export function loadAverage(): string {
  return (loadavg()[0] ?? 0).toFixed(2);
}
