/** Limits against hangs: a test that waits for something gives up only when it will never come, however slow the machine is. */

/** A quiet machine needs a tenth of any limit. */
const TIMES = 10;

/** Longer limits would hide what hangs behind the limit of the test itself (config/jest-preset.cjs). */
const MAX_MS = 720_000;

/** The limit of something that takes at most `quietMs` on a quiet machine. */
export function hangLimitMs(quietMs: number): number {
  return Math.max(quietMs, Math.min(TIMES * quietMs, MAX_MS));
}
