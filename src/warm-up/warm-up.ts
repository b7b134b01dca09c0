/** Runs the path of a request before anybody asks, since code that has run before answers in time. All of it is private: nothing is counted. */

import { Registry } from 'prom-client';
import { monotonicNowUs } from '../clock';
import { compileConfig } from '../config/compile';
import { Health } from '../observability/health';
import type { Metrics } from '../observability/metrics';
import { makeRecordDecision } from '../observability/record-decision';
import { RuleMetrics } from '../observability/rule-metrics';
import { ALGORITHMS } from '../rule/limit';
import { makeShouldRateLimit } from '../should-rate-limit';
import { MeasuredStore } from '../store/measured-store';
import { MemoryStore } from '../store/memory-store';
import type { Store } from '../store/store';
import { makeAnswerCalls, type AnswerCalls } from '../transport/answer';
import { GrpcServer } from '../transport/grpc-server';
import { LeanServer } from '../transport/http2/lean-server';
import { SHOULD_RATE_LIMIT_PATH } from '../transport/http2/request-head';
import { CHECK_PATH, WarmUpCaller, type Call } from './warm-up-caller';

/** Calls that make the path fast, and the processor time and time that they may take: on a slow machine they are fewer. */
const CALLS = 3000;
const CPU_MS_MAX = 200;
const MS_MAX = 1000;

/** Under way at once. */
const BATCH = 50;

/** Few enough that some requests are denied. */
const REQUESTS_PER_UNIT = 20;

const BUCKETS_MAX = 1000;

const DOMAIN = 'warm-up';

export interface WarmUpOptions {
  readonly transport: 'lean' | 'grpc-js';
  /** Where the process will count: the path there is made fast. */
  readonly counts: 'memory' | 'redis';
  /** Of the process; only what a known domain never touches is looked at. */
  readonly metrics: Metrics;
}

export interface WarmUpResult {
  readonly calls: number;
  readonly ms: number;
}

export async function warmUp({ transport, counts, metrics }: WarmUpOptions): Promise<WarmUpResult> {
  const startedMs = performance.now();
  const result = (calls: number): WarmUpResult => ({ calls, ms: performance.now() - startedMs });
  const store = await openStore(counts);
  const parts = { answerCalls: privateAnswer(store, metrics), health: new Health(), onCall: () => undefined };
  parts.health.serve();
  const grpc = new GrpcServer(parts);
  const server = transport === 'lean' ? new LeanServer({ ...parts, grpc, log: NO_LOG }) : grpc;
  const { port } = await server.start({ host: '127.0.0.1', port: 0, isPrivate: true });
  const caller = new WarmUpCaller(port);
  const giveUp = setTimeout(() => {
    caller.close();
  }, MS_MAX);
  // Envoy asks for the health before anything else.
  await caller.call([{ path: CHECK_PATH, message: Buffer.alloc(0) }]);
  let calls = 0;
  const cpuBefore = process.cpuUsage();
  for (; calls < CALLS && cpuMsSince(cpuBefore) < CPU_MS_MAX && !caller.isClosed; calls += BATCH) await caller.call(batchOfCalls(calls));
  clearTimeout(giveUp);
  caller.close();
  await server.drain({ timeoutMs: 0 });
  await store.close();
  return result(calls);
}

async function openStore(counts: WarmUpOptions['counts']): Promise<Store> {
  const store = new MemoryStore({ nowUs: monotonicNowUs, bucketsMax: BUCKETS_MAX });
  if (counts === 'memory') return new MeasuredStore(store, { onCall: () => undefined, onError: () => undefined });
  // The embedded store does without what this needs.
  const { overRedisPath } = await import('./redis-path.js');
  return overRedisPath(store);
}

const NO_LOG = { error: () => undefined };

/** Decides by rules of every algorithm, on buckets of its own. */
function privateAnswer(store: Store, metrics: Metrics): AnswerCalls {
  const ruleMetrics = new RuleMetrics({ registry: new Registry(), seriesMax: 100, nearLimitRatio: 0.8, sanitizeDots: false });
  const ruleSet = compileConfig({ files: [{ name: DOMAIN, text: configText() }], defaultAlgorithm: 'token_bucket', generation: 0 });
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
  const limits = ALGORITHMS.map((algorithm) => `  - { key: ${algorithm}, descriptors: [{ key: user, rate_limit: { unit: minute, requests_per_unit: ${REQUESTS_PER_UNIT}, algorithm: ${algorithm} } }] }`);
  return `domain: ${DOMAIN}\ndescriptors:\n${limits.join('\n')}\n`;
}

function cpuMsSince(before: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

/** Of each algorithm, of one descriptor and of two, by users who come again and, every third, by one who comes for the first time. */
function batchOfCalls(callsBefore: number): Call[] {
  return Array.from({ length: BATCH }, (_, index) => {
    const algorithm = ALGORITHMS[index % ALGORITHMS.length] ?? '';
    const user = `user-${index % 3 === 0 ? callsBefore + index : index}`;
    const descriptorOf = (user: string): Buffer => field(2, field(1, field(1, algorithm)), field(1, field(1, 'user'), field(2, user)));
    const descriptors = [descriptorOf(user), ...(index % 2 === 0 ? [descriptorOf('everybody')] : [])];
    return { path: SHOULD_RATE_LIMIT_PATH, message: Buffer.concat([field(1, DOMAIN), ...descriptors]) };
  });
}

/** Of a request; all of its fields are shorter than 128 bytes. */
function field(number: number, ...parts: readonly (Buffer | string)[]): Buffer {
  const bytes = Buffer.concat(parts.map((part) => Buffer.from(part)));
  return Buffer.concat([Buffer.from([(number << 3) | 2, bytes.length]), bytes]);
}
