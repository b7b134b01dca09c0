/** Processor time and memory of a process, as /proc has them. */

import { readdirSync, readFileSync } from 'node:fs';

/** Of the clock that `/proc/PID/stat` counts in, on every Linux that there is. */
const TICK_US = 10_000;

/** User and system time of all its threads that run now, in microseconds. */
export function processorTimeUs(pid: number): number {
  const exact = sumOfThreads(pid);
  // Without the scheduler's own count: in ticks of 10 ms.
  return exact > 0 ? exact : parseStatUs(readFileSync(`/proc/${pid}/stat`, 'utf8'));
}

/** How long its main thread was ready to run and waited for a core, in microseconds; 0 where the scheduler does not say. Its other threads wait for the main one. */
export function waitedForCoreUs(pid: number): number {
  return readSchedstatUs(`/proc/${pid}/task/${pid}/schedstat`, 'waited');
}

/** User and system time of all its threads, those that ended included, in microseconds: exact to 10 ms. */
export function endedProcessorTimeUs(pid: number): number {
  return parseStatUs(readFileSync(`/proc/${pid}/stat`, 'utf8'));
}

/** Resident memory in bytes. */
export function residentBytes(pid: number): number {
  return parseResidentBytes(readFileSync(`/proc/${pid}/status`, 'utf8'));
}

/** The most resident memory that it has had, in bytes. */
export function peakResidentBytes(pid: number): number {
  return parseResidentBytes(readFileSync(`/proc/${pid}/status`, 'utf8'), 'VmHWM');
}

/** By the scheduler, which counts nanoseconds; 0 where it does not say. */
function sumOfThreads(pid: number): number {
  const folder = `/proc/${pid}/task`;
  return readdirSync(folder).reduce((sum, thread) => sum + readSchedstatUs(`${folder}/${thread}/schedstat`, 'ran'), 0);
}

const SCHEDSTAT_FIELDS = { ran: 0, waited: 1 } as const;

function readSchedstatUs(file: string, field: keyof typeof SCHEDSTAT_FIELDS): number {
  try {
    return Number(readFileSync(file, 'utf8').split(' ')[SCHEDSTAT_FIELDS[field]]) / 1000;
  } catch {
    // The thread has ended since, or the kernel keeps no such count.
    return 0;
  }
}

/** Fields 14 and 15, of which the name in front may hold anything, blanks and brackets too. */
export function parseStatUs(stat: string): number {
  const [utime, stime] = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 13)
    .map(Number);
  if (utime === undefined || stime === undefined) throw new Error('/proc/PID/stat has no times');
  return (utime + stime) * TICK_US;
}

export function parseResidentBytes(status: string, field: 'VmRSS' | 'VmHWM' = 'VmRSS'): number {
  const [, kilobytes] = new RegExp(`^${field}:\\s*(\\d+) kB$`, 'm').exec(status) ?? [];
  if (kilobytes === undefined) throw new Error(`/proc/PID/status names no ${field}`);
  return Number(kilobytes) * 1024;
}
