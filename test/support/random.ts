/** One seed for all random tests of a run: printed, and taken from WEIR_SEED to run the same again. */

import { writeSync } from 'node:fs';
import { casesOf } from './form';

const STDERR = 2;

/** A whole number from 0 up to, but not, `below`. */
export type Random = (below: number) => number;

/** Random numbers for tests without fast-check, from the run's seed (mulberry32). */
export function randomFrom({ seed }: { readonly seed: number } = seededInFull(1)): Random {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

/** fast-check's parameters for a test of `longRuns` cases in the long form; the short form runs fewer (`casesOf`). */
export function seeded(longRuns: number): { readonly numRuns: number; readonly seed: number } {
  return seededInFull(casesOf(longRuns));
}

/** The same where every form runs all cases: they are cheap, or are the steps of one sequence that has to be that long. */
export function seededInFull(numRuns: number): { readonly numRuns: number; readonly seed: number } {
  const seed = Number(process.env.WEIR_SEED ?? Math.floor(Math.random() * 2 ** 31));
  writeSync(STDERR, `${expect.getState().currentTestName ?? 'random test'}: ${numRuns} runs, WEIR_SEED=${seed}\n`);
  return { numRuns, seed };
}
