/** The clocks of this process. Neither can be set, so a time that is measured by one is never negative. */

export function monotonicNowMs(): number {
  return performance.now();
}

/**
 * This machine's clock in microseconds since 1970, read once at start and counted on by the monotonic clock: an
 * operator who sets the clock neither frees nor locks a bucket.
 */
export function monotonicNowUs(): number {
  return Math.floor((performance.timeOrigin + performance.now()) * 1000);
}
