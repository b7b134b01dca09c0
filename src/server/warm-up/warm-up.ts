/** Runs the request path before the ports open, because code that has already run answers in time. It uses a private server, store and rules, so nothing is counted. */

import { Registry } from 'prom-client';
import { ALGORITHMS, PREFERRED_ALGORITHM } from '../../domain/algorithm/algorithms';
import { monotonicNowMs, monotonicNowUs } from '../../lib/clock';
import { compileConfig } from '../../configuration/compile/compile';
import { Health } from '../observability/health';
import type { Metrics } from '../observability/metrics/metrics';
import { makeRecordDecision } from '../observability/metrics/record-decision';
import { RuleMetrics } from '../observability/metrics/rule-metrics';
import { makeShouldRateLimit } from '../../should-rate-limit';
import { MeasuredStore } from '../../state/store/layers/measured-store';
import { MemoryStore } from '../../state/store/memory/memory-store';
import type { Store } from '../../state/store/port/store';
import { makeAnswerCalls, type AnswerCalls } from '../transport/answer';
import { CHECK_PATH } from '../transport/grpc/grpc-health';
import type { LeanServer, LeanServerOptions } from '../transport/http2/lean-server';
import { SHOULD_RATE_LIMIT_PATH } from '../transport/http2/connection/request-head';
import { WarmUpCaller, type Call } from './warm-up-caller';

/** Calls that suffice to make the path fast. */
const CALLS = 3000;

/** Bounds on the CPU time and the elapsed time of the calls. A slow or busy machine makes fewer calls; after 50 the first outside call is as fast as after 750. */
const CPU_MS_MAX = 100;
const MS_MAX = 300;

/** How long the warm-up waits for the answers to a batch. */
const ANSWER_MS_MAX = 1000;

/** Calls in flight at once. The first calls run interpreted and cost twenty times as much. */
const FIRST_BATCH = 10;
const BATCH = 50;

/** Low enough that some requests are denied. */
const REQUESTS_PER_UNIT = 20;

const BUCKETS_MAX = 1000;

const DOMAIN = 'warm-up';

export interface WarmUpOptions {
  /** Makes a server of the transport that the process will use. */
  readonly makeServer: (
    options: Pick<LeanServerOptions, 'answerCalls' | 'health' | 'onCall' | 'log'>,
  ) => Promise<Pick<LeanServer, 'start' | 'drain'>>;
  /** The kind of store that the process will use: its code path is warmed up. */
  readonly counts: 'memory' | 'redis';
  /** The process's metrics: calls within a known domain do not change them. */
  readonly metrics: Metrics;
  readonly clock?: WarmUpClock;
}

/** The CPU time of this process and a monotonic clock, in milliseconds. */
export interface WarmUpClock {
  readonly cpuMs: () => number;
  readonly nowMs: () => number;
}

const OWN_CLOCK: WarmUpClock = {
  cpuMs: () => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1000;
  },
  nowMs: monotonicNowMs,
};

export interface WarmUpResult {
  readonly calls: number;
  /** Elapsed time of the calls. The setup for them is mostly work that the process needs anyway. */
  readonly ms: number;
}

/** `clock` is injected by tests. */
export async function warmUp({ makeServer, counts, metrics, clock = OWN_CLOCK }: WarmUpOptions): Promise<WarmUpResult> {
  const store = await openStore(counts);
  const parts = { answerCalls: privateAnswer(store, metrics), health: new Health(), onCall: () => undefined };
  parts.health.serve();
  const server = await makeServer({ ...parts, log: NO_LOG });
  const { port } = await server.start({ host: '127.0.0.1', port: 0, isPrivate: true });
  const result = await callPrivately(port, clock);
  await server.drain({ timeoutMs: 0 });
  await store.close();
  return result;
}

/** Makes as many calls as the time allows, at least one batch. */
async function callPrivately(port: number, { cpuMs, nowMs }: WarmUpClock): Promise<WarmUpResult> {
  const [startedCpuMs, startedMs] = [cpuMs(), nowMs()];
  const isOver = (): boolean => cpuMs() - startedCpuMs >= CPU_MS_MAX || nowMs() - startedMs >= MS_MAX;
  const caller = new WarmUpCaller(port);
  const giveUp = setTimeout(() => {
    caller.close();
  }, ANSWER_MS_MAX);
  // Envoy sends a health check first.
  await caller.call([{ path: CHECK_PATH, message: Buffer.alloc(0) }]);
  let calls = 0;
  do {
    const batch = calls < BATCH ? FIRST_BATCH : BATCH;
    await caller.call(batchOfCalls(calls, batch));
    calls += batch;
  } while (calls < CALLS && !isOver() && !caller.isClosed);
  clearTimeout(giveUp);
  caller.close();
  return { calls, ms: nowMs() - startedMs };
}

async function openStore(counts: WarmUpOptions['counts']): Promise<Store> {
  const store = new MemoryStore({ nowUs: monotonicNowUs, bucketsMax: BUCKETS_MAX });
  if (counts === 'memory') return new MeasuredStore(store, { onCall: () => undefined, onError: () => undefined });
  // The embedded store does not need this module.
  const { overRedisPath } = await import('./redis-path.js');
  return overRedisPath(store);
}

const NO_LOG = { error: () => undefined };

/** Decides by rules of every algorithm, on private buckets. */
function privateAnswer(store: Store, metrics: Metrics): AnswerCalls {
  const ruleMetrics = new RuleMetrics({ registry: new Registry(), seriesMax: 100, nearLimitRatio: 0.8, sanitizeDots: false });
  const ruleSet = compileConfig({ files: [{ name: DOMAIN, text: configText() }], defaultAlgorithm: PREFERRED_ALGORITHM, generation: 0 });
  const decide = makeShouldRateLimit({
    ruleSet: () => ruleSet,
    store,
    modes: { shadow: false, quota: false },
    keyPrefix: '',
    nowUs: monotonicNowUs,
    record: makeRecordDecision({ metrics, ruleMetrics, globalShadow: false }),
  });
  return makeAnswerCalls({ decide, log: NO_LOG, onFailure: () => undefined });
}

function configText(): string {
  const limits = ALGORITHMS.map(
    (algorithm) =>
      `  - { key: ${algorithm}, descriptors: [{ key: user, rate_limit: { unit: minute, requests_per_unit: ${REQUESTS_PER_UNIT}, algorithm: ${algorithm} } }] }`,
  );
  return `domain: ${DOMAIN}\ndescriptors:\n${limits.join('\n')}\n`;
}

/** Calls for each algorithm with one and two descriptors; two thirds come from returning users, one third from new ones. */
function batchOfCalls(callsBefore: number, calls: number): Call[] {
  return Array.from({ length: calls }, (_, i) => {
    const index = (callsBefore + i) % BATCH;
    const algorithm = ALGORITHMS[index % ALGORITHMS.length] ?? '';
    const user = `user-${index % 3 === 0 ? callsBefore + i : index}`;
    const descriptorOf = (user: string): Buffer => field(2, field(1, field(1, algorithm)), field(1, field(1, 'user'), field(2, user)));
    const descriptors = [descriptorOf(user), ...(index % 2 === 0 ? [descriptorOf('everybody')] : [])];
    return { path: SHOULD_RATE_LIMIT_PATH, message: Buffer.concat([field(1, DOMAIN), ...descriptors]) };
  });
}

/** Encodes a field of a request. Every field is shorter than 128 bytes, so its length takes one byte. */
function field(number: number, ...parts: readonly (Buffer | string)[]): Buffer {
  const bytes = Buffer.concat(parts.map((part) => Buffer.from(part)));
  return Buffer.concat([Buffer.from([(number << 3) | 2, bytes.length]), bytes]);
}
