/** The options of both limiters that bound how many requests wait. */

import type { WaitBoundOptions } from '../limiter/limiter';
import { readWhole } from '../limiter/read-option';

const WAITERS_DEFAULT = 10_000;
const WAITERS_MAX = 1_000_000;

const BYTES_DEFAULT = 32 * 1024 * 1024;
const BYTES_MIN = 4 * 1024;
const BYTES_MAX = 1024 * 1024 * 1024;

export interface WaitBounds {
  readonly waitersMax: number;
  readonly waitBytesMax: number;
}

/** @throws TypeError that names the option */
export function readWaitBounds({ waitersMax = WAITERS_DEFAULT, waitBytesMax = BYTES_DEFAULT }: WaitBoundOptions): WaitBounds {
  return {
    waitersMax: readWhole('waitersMax', waitersMax, { min: 1, max: WAITERS_MAX }),
    waitBytesMax: readWhole('waitBytesMax', waitBytesMax, { min: BYTES_MIN, max: BYTES_MAX }),
  };
}
