/** The clocks of this process. Both are monotonic, so measured times are never negative. */

export function monotonicNowMs(): number {
  return performance.now();
}

/**
 * Microseconds since 1970: the system clock at the start of the process, advanced by the monotonic clock. Setting
 * the system clock neither frees nor locks a bucket.
 */
export function monotonicNowUs(): number {
  return Math.floor((performance.timeOrigin + performance.now()) * 1000);
}
