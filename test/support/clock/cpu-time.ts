/** Processor time that work costs: on a busy host the time that passes says nothing about it. */

/** Of this process, in milliseconds, while `work` runs. */
export function cpuMs(work: () => void): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}
