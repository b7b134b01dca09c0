/** The clocks of this process. Both are monotonic, so measured times are never negative. */

/** Milliseconds since the start of the process. */
export function monotonicNowMs(): number {
  return performance.now();
}

/** When the process started, in milliseconds since 1970. */
export const STARTED_AT_MS = performance.timeOrigin;

/**
 * Microseconds since 1970: the system clock at the start of the process, advanced by the monotonic clock. Setting
 * the system clock neither frees nor locks a bucket.
 */
export function monotonicNowUs(): number {
  return Math.floor((STARTED_AT_MS + monotonicNowMs()) * 1000);
}

/** Calls back after the time, and after reading: timers run before input is read, and an unread answer in the socket still counts. */
export function readTimeout(ms: number, onTime: () => void): NodeJS.Timeout {
  return setTimeout(() => setImmediate(onTime), ms);
}
