/** Reads the option `failureMode`. */

import type { FailureMode } from './limiter';

/** @throws TypeError */
export function readFailureMode(failureMode: unknown): FailureMode {
  if (failureMode === 'open' || failureMode === 'closed') return failureMode;
  throw new TypeError(`failureMode is ${JSON.stringify(failureMode)}; write open or closed`);
}
