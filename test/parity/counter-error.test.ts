/** The error of the sliding window counter equals the figures in docs/algorithms.md. */

import { readFileSync, writeSync } from 'node:fs';
import { limitOf, OneBucket, START_US } from '../support/model/one-bucket';

const STDOUT = 1;
const REQUESTS = 20_000;
const LIMIT = 100;
const WINDOW_US = 60_000_000;
const SEED = 1;

/** A 32-bit generator (mulberry32): the same numbers on every machine, unlike what rests on logarithms. */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

type NextArrival = (nowUs: number, i: number, random: () => number) => number;

/** Uniformly random gaps; `load` 1 asks for exactly the limit on average. */
function even(load: number): NextArrival {
  return (nowUs, _i, random) => nowUs + Math.floor((random() * 2 * WINDOW_US) / (LIMIT * load));
}

/** Bursts of 75 in about 10 ms, each after a pause of up to one and a half windows, divided by the load. */
function bursts(load: number): NextArrival {
  return (nowUs, i, random) => nowUs + Math.floor(random() * (i % 75 === 0 ? (1.5 * WINDOW_US) / load : 20_000 / 75));
}

/** 200 requests in the second around each edge of the clock's windows, and none between. */
const atEdges: NextArrival = (nowUs, i, random) => {
  if (i % 200 !== 0) return nowUs + Math.floor(random() * 10_000);
  return nowUs - (nowUs % WINDOW_US) + 2 * WINDOW_US - 1_000_000;
};

/** A quiet window, the whole limit in the last microsecond of the next, and 1,000 requests spread over the one after. */
const worst: NextArrival = (nowUs, i) => {
  const step = i % 1_100;
  if (step === 0) return nowUs - (nowUs % WINDOW_US) + 3 * WINDOW_US - 1;
  return step < LIMIT ? nowUs : nowUs + WINDOW_US / 1_000 - (step === LIMIT ? 1 : 0);
};

const ARRIVALS: readonly (readonly [string, NextArrival])[] = [
  ['even, 0.9 of the limit', even(0.9)],
  ['even, 1.5 of the limit', even(1.5)],
  ['even, 3 times the limit', even(3)],
  ['bursts, half the limit', bursts(0.5)],
  ['bursts, 1.5 of the limit', bursts(1.5)],
  ['bursts, 3 times the limit', bursts(3)],
  ['at the edges of the clock', atEdges],
  ['the worst there is', worst],
];

function percent(part: number, whole: number): string {
  return `${((100 * part) / whole).toFixed(2)} %`;
}

/**
 * One row of the table. Passed wrongly is what the log would have denied, had it let the same requests through before.
 * A request denied wrongly shows in the totals: most of those are let through a moment later.
 */
function measure(name: string, next: NextArrival): string {
  const limit = limitOf({ algorithm: 'sliding_window_counter', requestsPerUnit: LIMIT, windowUs: WINDOW_US, burst: 0 });
  const counter = new OneBucket(limit);
  const log = new OneBucket({ ...limit, algorithm: 'sliding_window_log' });
  const random = randomFrom(SEED);
  let recent: number[] = [];
  let [atUs, byLog, byCounter, wronglyPassed, most] = [START_US, 0, 0, 0, 0];
  for (let i = 0; i < REQUESTS; i += 1) {
    atUs = next(atUs, i, random);
    recent = recent.filter((each) => each > atUs - WINDOW_US);
    if (log.take({ atUs, hits: 1 }).fits) byLog += 1;
    if (counter.take({ atUs, hits: 1 }).fits) {
      byCounter += 1;
      if (recent.length >= LIMIT) wronglyPassed += 1;
      recent.push(atUs);
      most = Math.max(most, recent.length);
    }
  }
  return `| ${name} | ${byLog} | ${byCounter} | ${percent(byCounter - byLog, byLog)} | ${percent(wronglyPassed, byCounter)} | ${most} |`;
}

test.each(ARRIVALS)('%s', (name, next) => {
  const row = measure(name, next);
  writeSync(STDOUT, `${row}\n`);
  expect(readFileSync('docs/algorithms.md', 'utf8')).toContain(row);
});
