/** Which processor core each process of a benchmark runs on: the server that is measured has one to itself. */

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

export interface Cores {
  readonly server: number;
  /** Of the generator and of Redis. */
  readonly load: number;
}

/** Undefined where processes can't be tied to cores, or where there is only one. */
export function findCores(): Cores | undefined {
  try {
    const [server, load] = parseCpuList(/^Cpus_allowed_list:\s*(\S+)/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? '');
    execFileSync('taskset', ['--version'], { stdio: 'ignore' });
    return server === undefined || load === undefined ? undefined : { server, load };
  } catch {
    return undefined;
  }
}

/** `0-2,5`: 0, 1, 2 and 5. */
export function parseCpuList(list: string): number[] {
  return list.split(',').flatMap((part) => {
    const [first, last = first] = part.split('-').map(Number);
    if (part === '' || first === undefined || last === undefined) return [];
    return Array.from({ length: last - first + 1 }, (_, index) => first + index);
  });
}

/** Ties all threads of the process to the core. */
export function pin(pid: number, core: number | undefined): void {
  if (core !== undefined) execFileSync('taskset', ['--all-tasks', '--cpu-list', '--pid', String(core), String(pid)], { stdio: 'ignore' });
}

/** The cores that the process may run on, as a list, or undefined where the system does not show them. */
export function coresOf(pid: number): string | undefined {
  try {
    return /^Cpus_allowed_list:\s*(\S+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  } catch {
    return undefined;
  }
}
