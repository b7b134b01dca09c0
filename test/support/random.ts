/** One seed for all random tests of a run: printed, and taken from WEIR_SEED to run the same again. */

import { writeSync } from 'node:fs';

const STDERR = 2;

/** fast-check's parameters for so many runs. */
export function seeded(numRuns: number): { readonly numRuns: number; readonly seed: number } {
  const seed = Number(process.env.WEIR_SEED ?? Math.floor(Math.random() * 2 ** 31));
  writeSync(STDERR, `${expect.getState().currentTestName ?? 'random test'}: ${numRuns} runs, WEIR_SEED=${seed}\n`);
  return { numRuns, seed };
}
