/** The clock of waits, and its timer. */

import { monotonicNowMs } from '../../../lib/clock';

export interface WaitClock {
  /** Milliseconds that never go back. */
  readonly nowMs: () => number;
  /** Calls once, after this time; the result cancels the call. */
  readonly after: (ms: number, call: () => void) => () => void;
}

/** Its timer keeps the process alive: somebody waits for it. */
export const REAL_CLOCK: WaitClock = {
  nowMs: monotonicNowMs,
  after: (ms, call) => {
    const timer = setTimeout(call, ms);
    return () => {
      clearTimeout(timer);
    };
  },
};
