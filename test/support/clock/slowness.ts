/** How slow the machine is now: on a busy one everything takes longer than its processor time, and so do the processes of a test. */

const SPIN_MS = 30;

/**
 * How many times longer than its processor time a moment of work takes: 1 on a quiet machine, about 6 at twelve busy processes on two
 * cores. A time that a test expects is multiplied by it.
 */
export function slowness(): number {
  const startedMs = performance.now();
  const before = process.cpuUsage();
  let spentMs = 0;
  while (spentMs < SPIN_MS) {
    const { user, system } = process.cpuUsage(before);
    spentMs = (user + system) / 1_000;
  }
  // The threads of this process may work side by side.
  return Math.max(1, (performance.now() - startedMs) / spentMs);
}
