/** `npm run bench -- memory-store [--short]`: the embedded store with a million buckets: time, pauses, memory. Printed, not judged. */

import { fork } from 'node:child_process';
import { once } from 'node:events';
import * as path from 'node:path';
import { PerformanceObserver } from 'node:perf_hooks';
import { ALGORITHMS, type Algorithm } from '../src/domain/algorithm/algorithms';
import type { Group } from '../src/domain/bucket/take';
import { MemoryStore } from '../src/state/store/memory/memory-store';
import { loadAverage } from './support/environment';

const isShort = process.argv.includes('--short');
const BUCKETS = isShort ? 100_000 : 1_000_000;

/**
 * Not those of scripts/bench.mjs: a young generation as a server has it. Collector and compiler work on the main thread
 * alone, so that its processor time excludes the time of other processes.
 */
const NODE_FLAGS = [
  '--max-semi-space-size=4',
  '--single-threaded',
  '--require',
  path.join(__dirname, '..', 'scripts', 'process', 'load-typescript.cjs'),
];

const HOUR_US = 3_600_000_000;
const KEY = Buffer.from('1{payments}tb3600|merchant_id=m-00000000');
const DIGITS = 8;

/** Time moves on so much with each take. */
const STEP_US = 10;
let nowUs = 1_800_000_000_000_000;

interface Phase {
  readonly name: string;
  /** The number of the key of each take. */
  readonly keyNumber: (take: number) => number;
  /** So far the clock steps before. */
  readonly stepUs?: number;
}

const PHASES: readonly Phase[] = [
  { name: 'every key new', keyNumber: (take) => take },
  { name: 'any of them', keyNumber: (take) => Math.imul(take, 2_654_435_761) >>> 0 },
  { name: 'one key', keyNumber: () => 7 },
  { name: 'every key new, the oldest goes', keyNumber: (take) => take + BUCKETS },
  { name: 'one key, all others expire', keyNumber: () => 7, stepUs: 2 * HOUR_US },
];

/** What the collector had of the main thread, as start and end of each of its pauses in milliseconds. */
const collections: (readonly [number, number])[] = [];
const observer = new PerformanceObserver((list) => {
  for (const { startTime, duration } of list.getEntries()) collections.push([startTime, startTime + duration]);
});

/** As the transport makes them: texts from bytes. */
function groupOf(keyNumber: number, algorithm: Algorithm): Group {
  let rest = keyNumber;
  for (let at = KEY.length - 1; at >= KEY.length - DIGITS; at -= 1) {
    KEY[at] = 0x30 + (rest % 10);
    rest = Math.floor(rest / 10);
  }
  const limit = { algorithm, windowUs: HOUR_US, requestsPerUnit: 5, capacity: 5 };
  const take = { bucketKey: KEY.toString('latin1'), limit, hits: 1, mode: 'enforced', descriptor: 0 } as const;
  return { takes: [take], quotaAlwaysFits: false, shadow: false };
}

/** A take that was not short. */
interface Span {
  readonly startMs: number;
  readonly endMs: number;
  readonly cpuMs: number;
}

const SHORT_MS = 0.1;

/** The first takes of each kind wait for the compiler, and are not counted among the longest. */
const COMPILED_AFTER = 20_000;

interface Measured {
  readonly cpuUs: number;
  /** The longest take, in milliseconds: its processor time, or its time less what the collector had of it, if that is less. */
  readonly longestMs: number;
  readonly longestCollectionMs: number;
}

async function measure(
  { keyNumber }: Phase,
  algorithm: Algorithm,
  decide: (groups: readonly Group[]) => Promise<unknown>,
): Promise<Measured> {
  collections.length = 0;
  const spans: Span[] = [];
  const before = process.cpuUsage();
  for (let take = 0; take < BUCKETS; take += 1) {
    const groups = [groupOf(keyNumber(take) % (2 * BUCKETS), algorithm)];
    nowUs += STEP_US;
    const cpuBeforeMs = cpuMs();
    const startMs = performance.now();
    const outcomes = decide(groups);
    const endMs = performance.now();
    if (take >= COMPILED_AFTER && endMs - startMs > SHORT_MS) spans.push({ startMs, endMs, cpuMs: cpuMs() - cpuBeforeMs });
    await outcomes;
  }
  const { user, system } = process.cpuUsage(before);
  // The observer is told of collections a little later.
  await new Promise((resolve) => setTimeout(resolve, 50));
  const longestMs = spans.reduce((most, span) => Math.max(most, Math.min(span.cpuMs, lengthLessCollections(span))), SHORT_MS);
  const longestCollectionMs = collections.reduce((most, [from, to]) => Math.max(most, to - from), 0);
  return { cpuUs: (user + system) / BUCKETS, longestMs, longestCollectionMs };
}

function lengthLessCollections({ startMs, endMs }: Span): number {
  return collections.reduce((left, [from, to]) => left - Math.max(0, Math.min(endMs, to) - Math.max(startMs, from)), endMs - startMs);
}

function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

async function measureAll(algorithm: Algorithm): Promise<void> {
  observer.observe({ entryTypes: ['gc'] });
  const store = new MemoryStore({ nowUs: () => nowUs, bucketsMax: BUCKETS });
  const warmUp = new MemoryStore({ nowUs: () => nowUs, bucketsMax: 100 });
  for (const phase of PHASES) await measure(phase, algorithm, (groups) => warmUp.take(groups));
  for (const phase of PHASES) {
    nowUs += phase.stepUs ?? 0;
    const { cpuUs, longestMs, longestCollectionMs } = await measure(phase, algorithm, (groups) => store.take(groups));
    // The same without a store.
    const idle = await measure(phase, algorithm, (groups) => Promise.resolve(groups));
    const cells = [
      algorithm,
      phase.name,
      (cpuUs - idle.cpuUs).toFixed(2),
      longestMs.toFixed(2),
      longestCollectionMs.toFixed(2),
      store.size,
    ];
    console.log(`| ${[...cells, Math.round(process.memoryUsage.rss() / 1e6)].join(' | ')} |`);
  }
  observer.disconnect();
}

async function main(): Promise<void> {
  const [algorithm] = process.argv.slice(2).filter((arg) => (ALGORITHMS as readonly string[]).includes(arg));
  if (algorithm !== undefined) {
    await measureAll(algorithm as Algorithm);
    return;
  }
  console.log(`${BUCKETS} buckets, one take a call; load of the machine ${loadAverage()}\n`);
  console.log('| algorithm | takes of | CPU µs a take | longest take, ms | longest collection, ms | buckets | RSS, MB |');
  console.log('|---|---|---|---|---|---|---|');
  for (const each of isShort ? ALGORITHMS.slice(0, 1) : ALGORITHMS) {
    const child = fork(__filename, [each, ...process.argv.slice(2)], { execArgv: NODE_FLAGS });
    await once(child, 'exit');
  }
}

void main();
