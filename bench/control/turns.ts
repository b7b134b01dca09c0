/** The longest turns of the event loop during some work. */

export interface Turns<T> {
  readonly result: T;
  readonly longestMs: number;
  readonly over5Ms: number;
}

const BOUND_MS = 5;

/**
 * A turn counts with its time or with the processor time of the process, whichever is less: other processes of the machine do not count,
 * but helper threads of the garbage collector do, so a turn may be shorter than shown.
 */
export async function longestTurnOf<T>(work: () => Promise<T>): Promise<Turns<T>> {
  let [longestMs, over5Ms, isRunning] = [0, 0, true];
  let before = { ms: performance.now(), usage: process.cpuUsage() };
  const look = (): void => {
    const { user, system } = process.cpuUsage(before.usage);
    const turnMs = Math.min(performance.now() - before.ms, (user + system) / 1_000);
    longestMs = Math.max(longestMs, turnMs);
    if (turnMs > BOUND_MS) over5Ms += 1;
    before = { ms: performance.now(), usage: process.cpuUsage() };
    if (isRunning) setImmediate(look);
  };
  setImmediate(look);
  const result = await work();
  isRunning = false;
  return { result, longestMs, over5Ms };
}
