/** What the system says of a process: the processor time that it has used, and the memory that it holds. */

import { readdirSync, readFileSync } from 'node:fs';

/** Of the clock that `/proc/PID/stat` counts in, on every Linux that there is. */
const TICK_US = 10_000;

/** User and system time of all its threads, in microseconds. */
export function processorTimeUs(pid: number): number {
  const exact = sumOfThreads(pid);
  // Without the scheduler's own count: in ticks of 10 ms.
  return exact > 0 ? exact : parseStatUs(readFileSync(`/proc/${pid}/stat`, 'utf8'));
}

/** Resident memory in bytes. */
export function residentBytes(pid: number): number {
  return parseResidentBytes(readFileSync(`/proc/${pid}/status`, 'utf8'));
}

/** By the scheduler, which counts nanoseconds; 0 where it does not say. */
function sumOfThreads(pid: number): number {
  const folder = `/proc/${pid}/task`;
  return readdirSync(folder).reduce((sum, thread) => sum + readSchedstatUs(`${folder}/${thread}/schedstat`), 0);
}

function readSchedstatUs(file: string): number {
  try {
    return Number(readFileSync(file, 'utf8').split(' ')[0]) / 1000;
  } catch {
    // The thread has ended since, or the kernel keeps no such count.
    return 0;
  }
}

/** Fields 14 and 15, of which the name in front may hold anything, blanks and brackets too. */
export function parseStatUs(stat: string): number {
  const [utime, stime] = stat.slice(stat.lastIndexOf(')') + 2).split(' ').slice(11, 13).map(Number);
  if (utime === undefined || stime === undefined) throw new Error('/proc/PID/stat has no times');
  return (utime + stime) * TICK_US;
}

export function parseResidentBytes(status: string): number {
  const [, kilobytes] = /^VmRSS:\s*(\d+) kB$/m.exec(status) ?? [];
  if (kilobytes === undefined) throw new Error('/proc/PID/status names no VmRSS');
  return Number(kilobytes) * 1024;
}
