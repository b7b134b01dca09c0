/** Seeds of random tests: printed, derived from the run's seed (WEIR_RUN_SEED), or given by WEIR_SEED to repeat one test. */

import { createHash } from 'node:crypto';
import { writeSync } from 'node:fs';
import path from 'node:path';
import { keepFigure } from '../docs/figure';
import { casesOf, isLong } from './form';

const STDERR = 2;
const ROOT = path.resolve(__dirname, '..', '..', '..');

/** Seeds already derived in this test file, by test: a test that asks twice gets two seeds, the same two in every run. */
const derivedCounts = new Map<string, number>();

/** A whole number from 0 up to, but not, `below`. */
export type Random = (below: number) => number;

/** Random numbers for tests without fast-check (mulberry32). */
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
  const seed = chooseSeed();
  writeSync(STDERR, `${expect.getState().currentTestName ?? 'random test'}: ${numRuns} runs, WEIR_SEED=${seed}\n`);
  if (numRuns > 1) keepFigure(`${numRuns.toLocaleString('en')} random cases`);
  return { numRuns, seed };
}

/** All of them in the long form; in the short form a random part, in their order, so that repeated runs try all. */
export function sampled<Item>(all: readonly Item[], { part }: { readonly part: number }): readonly Item[] {
  if (isLong || all.length === 0) return all;
  const count = Math.ceil(all.length * part);
  const random = randomFrom(seededInFull(count));
  const places = all.map((_, place) => place);
  for (let i = places.length - 1; i > 0; i -= 1) {
    const other = random(i + 1);
    [places[i], places[other]] = [places[other]!, places[i]!];
  }
  const chosen = new Set(places.slice(0, count));
  return all.filter((_, place) => chosen.has(place));
}

function chooseSeed(): number {
  const { WEIR_SEED: given, WEIR_RUN_SEED: runSeed } = process.env;
  if (given !== undefined) return Number(given);
  if (runSeed === undefined) return Math.floor(Math.random() * 2 ** 31);
  return derivedSeed(runSeed);
}

/** Each test has a seed of its own: tests that draw the same numbers would look at the same cases. */
function derivedSeed(runSeed: string): number {
  const { testPath = '', currentTestName = '' } = expect.getState();
  const test = `${path.relative(ROOT, testPath)}: ${currentTestName}`;
  const count = derivedCounts.get(test) ?? 0;
  derivedCounts.set(test, count + 1);
  return createHash('sha256').update(`${runSeed} ${count} ${test}`).digest().readUInt32BE() >>> 1;
}
