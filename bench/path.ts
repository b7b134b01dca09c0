/** What each step of a decision costs, without the network and Redis: microseconds of fresh requests and of one that recurs. */

import { Registry } from 'prom-client';
import { Preparation } from '../src/state/request/preparation';
import type { Group, GroupVerdict } from '../src/domain/bucket/take';
import { monotonicNowUs } from '../src/lib/clock';
import { toByteString } from '../src/domain/descriptor/byte-string';
import type { RateLimitRequest } from '../src/domain/descriptor/descriptor';
import { NO_CHILDREN } from '../src/domain/rule/tree';
import { WildcardIndex } from '../src/domain/descriptor/wildcard-index';
import { compileWildcard } from '../src/domain/descriptor/wildcard';
import { toDecision } from '../src/domain/decide/to-decision';
import { BadRequestError } from '../src/lib/errors';
import { DecisionLine } from '../src/server/observability/decision-log/decision-line';
import { LineQueue } from '../src/server/observability/decision-log/line-queue';
import { LatencyHistogram } from '../src/server/observability/metrics/latency-histogram';
import { makeMetrics } from '../src/server/observability/metrics/metrics';
import { makeRecordDecision } from '../src/server/observability/metrics/record-decision';
import { RuleMetrics } from '../src/server/observability/metrics/rule-metrics';
import { isLimitProblem, makeLimit, type Limit } from '../src/domain/rule/limit';
import { matchRequest } from '../src/domain/rule/match';
import type { Rule } from '../src/domain/rule/rule';
import type { RuleSet } from '../src/domain/rule/rule-set';
import { additionsFor } from '../src/domain/respond/response-additions';
import { readSettings } from '../src/configuration/settings/table/settings';
import { makeShouldRateLimit } from '../src/should-rate-limit';
import { MemoryStore } from '../src/state/store/memory/memory-store';
import type { Store } from '../src/state/store/port/store';
import { makeCountDecision } from '../src/state/top/count-decision';
import { LiveKeys } from '../src/state/top/live-keys';
import { makeAnswerCalls } from '../src/server/transport/answer';
import { encodeResponse } from '../src/server/transport/messages/response';
import { RequestCache } from '../src/server/transport/messages/request-cache';
import { loadProto } from '../src/server/transport/messages/proto';

const isShort = process.argv.includes('--short');
const ROUNDS = isShort ? 3 : 9;
const WARM_UP_ROUNDS = 3;
const MESSAGES = 100_000;
const STEPS_A_ROUND = isShort ? 50_000 : MESSAGES;
const IN_FLIGHT = 256;
/** Calls that one read of a connection brings. */
const HANDFUL = 64;
const TOP_KEYS_CAPACITY = 512;
const LOG_CHUNK_BYTES = 64 * 1024;
const MODES = { shadow: false, quota: false };

const { requestSerialize } = loadProto().rateLimit.ShouldRateLimit;

function limitOf(): Limit {
  const made = makeLimit({ requestsPerUnit: 1_000_000, unit: 'second', algorithm: 'token_bucket' });
  if (isLimitProblem(made)) throw new Error(made.message);
  return made;
}

function ruleOf(name: string): Rule {
  return {
    path: [name],
    limits: [limitOf()],
    unlimited: false,
    name: '',
    replaces: [],
    shadowMode: false,
    quotaMode: false,
    detailedMetric: false,
    valueToMetric: [],
    shareThreshold: [],
  };
}

/** A key alone, a key with a number of values, and a key with a number of wildcards. */
function ruleSetOf(configured: number): RuleSet {
  const values = new Map(Array.from({ length: configured }, (_, i) => [`plan-${i}`, { rule: ruleOf('plan'), children: NO_CHILDREN }]));
  const wildcards = Array.from({ length: configured }, (_, i) => ({
    key: compileWildcard('path'),
    value: compileWildcard(toByteString(`/api/${i}/*`)),
    node: { rule: ruleOf('path'), children: NO_CHILDREN },
  }));
  const root = {
    byValue: new Map([['plan', values]]),
    wildcards: new WildcardIndex(wildcards),
    byKey: new Map([
      ['user', { rule: ruleOf('user'), children: NO_CHILDREN }],
      ['route', { rule: ruleOf('route'), children: NO_CHILDREN }],
    ]),
  };
  return {
    generation: 1,
    domains: new Map([['edge', { name: 'edge', defaultAlgorithm: 'token_bucket', calendarMonth: false, root }]]),
    warnings: [],
  };
}

type Shape = (i: number) => readonly (readonly [key: string, value: string])[];

/** One descriptor for each entry. */
const SHAPES: Readonly<Record<string, Shape>> = {
  'one descriptor': (i) => [['user', `user-${100_000 + i}`]],
  'two descriptors': (i) => [
    ['user', `user-${100_000 + i}`],
    ['route', '/api/v1/items'],
  ],
};

function messagesOf(shape: Shape): Buffer[] {
  return Array.from({ length: MESSAGES }, (_, i) =>
    requestSerialize({ domain: 'edge', descriptors: shape(i).map(([key, value]) => ({ entries: [{ key, value }] })) }),
  );
}

function requestOf(requests: RequestCache, message: Buffer): RateLimitRequest {
  const request = requests.read(message);
  if (request instanceof BadRequestError) throw request;
  return request;
}

/** Processor time, median of the rounds, in microseconds. The first rounds only warm up. */
function timed(step: (i: number) => unknown): number {
  const rounds: number[] = [];
  for (let round = -WARM_UP_ROUNDS; round < ROUNDS; round += 1) {
    const before = process.cpuUsage();
    for (let i = 0; i < STEPS_A_ROUND; i += 1) step(i);
    if (round >= 0) rounds.push(usedUs(before) / STEPS_A_ROUND);
  }
  return median(rounds);
}

/** The same of a step that waits and takes a handful, as many handfuls at once as a busy server has. */
async function timedInFlight(step: (i: number) => Promise<unknown>): Promise<number> {
  const rounds: number[] = [];
  for (let round = -WARM_UP_ROUNDS; round < ROUNDS; round += 1) {
    const before = process.cpuUsage();
    for (let i = 0; i < STEPS_A_ROUND; i += IN_FLIGHT) {
      const steps: Promise<unknown>[] = [];
      for (let j = i; j < i + IN_FLIGHT && j < STEPS_A_ROUND; j += HANDFUL) steps.push(step(j));
      await Promise.all(steps);
    }
    if (round >= 0) rounds.push(usedUs(before) / STEPS_A_ROUND);
  }
  return median(rounds);
}

function usedUs(before: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(before);
  return user + system;
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;
}

/** Fits everything: a decision without what the store costs. */
function verdictOf({ takes }: Group): GroupVerdict {
  return { overLimit: false, nowUs: 0, verdicts: takes.map(() => ({ fits: true, remaining: 999_999, retryAfterUs: 0, resetAfterUs: 1 })) };
}

const constantStore: Store = {
  take: (groups) => Promise.resolve(groups.map(verdictOf)),
  adjust: () => Promise.resolve([]),
  close: () => Promise.resolve(),
};

async function measure(shape: Shape): Promise<void> {
  const messages = messagesOf(shape);
  const ruleSet = ruleSetOf(10);
  const registry = new Registry();
  const metrics = makeMetrics({ registry, version: 'bench', store: 'memory' });
  const ruleMetrics = new RuleMetrics({ registry, seriesMax: 1000, nearLimitRatio: 0.8, sanitizeDots: false });
  const record = makeRecordDecision({ metrics, ruleMetrics, globalShadow: false });
  const times = new LatencyHistogram<'of'>(registry, { name: 'bench_seconds', help: 'Times.' }).with({ of: 'bench' });
  const preparation = new Preparation({ ruleSet, modes: MODES, keyPrefix: '', nowUs: monotonicNowUs });
  const requests = new RequestCache();
  // Not by reading the messages: V8 would learn that what is read lives long, and put it where it is costly to let go of.
  const fresh = messages.map((_, i): RateLimitRequest => ({
    domain: 'edge',
    descriptors: shape(i).map(([key, value]) => ({ entries: [{ key, value }] })),
    hits: 1,
  }));
  const hot = messages[4711]!;
  requestOf(requests, hot);
  const recurring = requestOf(requests, hot);
  const prepared = preparation.of(recurring);
  const verdict = verdictOf(prepared.group);
  const decision = toDecision(prepared.matched, verdict, monotonicNowUs);
  const decided = { request: recurring, matched: prepared.matched, verdict, decision };
  const countKeys = makeCountDecision({ keys: new LiveKeys({ capacity: TOP_KEYS_CAPACITY }), nearLimitRatio: 0.8 });
  const line = new DecisionLine({ fields: readSettings({}).decisionLogFields, sample: 1 });
  const lines = new LineQueue({ chunkBytes: LOG_CHUNK_BYTES, bytesMax: 2 * LOG_CHUNK_BYTES });
  const matchedFresh = fresh.map((request) => matchRequest({ ruleSet, request, modes: MODES }));

  const read = [timed((i) => requests.read(messages[i]!)), timed(() => requests.read(hot))] as const;
  // A store looks a key up in a map: then it is in one piece.
  const keys = new Map<string, true>();
  const found = [
    timed((i) => keys.get(preparation.of(fresh[i]!).group.takes[0]!.bucketKey)),
    timed(() => preparation.of(recurring)),
  ] as const;
  const steps: readonly (readonly [step: string, ...us: number[]])[] = [
    ['bytes to request', ...read],
    ['match and key', ...found],
    ['verdict to decision', timed(() => toDecision(prepared.matched, verdict, monotonicNowUs))],
    ['decision to bytes', timed(() => encodeResponse(decision))],
    [
      'metrics',
      timed(() => {
        record(decided);
      }),
    ],
    [
      'top keys',
      timed((i) => {
        countKeys({ request: fresh[i]!, matched: matchedFresh[i]!, decision });
      }),
      timed(() => {
        countKeys(decided);
      }),
    ],
    [
      'decision log',
      timed((i) => {
        addLine(lines, line.of({ request: fresh[i]!, matched: matchedFresh[i]!, verdict, decision }));
      }),
      timed(() => {
        addLine(lines, line.of(decided));
      }),
    ],
    [
      'time to histogram',
      timed((i) => {
        times.observe(i / 1e8);
      }),
    ],
  ];
  for (const [step, ...us] of steps) print(step, us);
  const answering = (store: Store) => {
    const decide = makeShouldRateLimit({ ruleSet: () => ruleSet, store, modes: MODES, keyPrefix: '', nowUs: monotonicNowUs, record });
    const answerCalls = makeAnswerCalls({ decide, log: { error: console.error }, onFailure: () => undefined });
    return async (handful: readonly Buffer[]) => {
      for (const answer of await answerCalls(
        handful.map((message) => requests.read(message)),
        {},
      )) {
        if ('failure' in answer) throw new Error(answer.failure.message);
        encodeResponse(answer.decision);
      }
    };
  };
  const hotOnes = Array<Buffer>(HANDFUL).fill(hot);
  const time = async (answer: (handful: readonly Buffer[]) => Promise<void>) => [
    await timedInFlight((i) => answer(messages.slice(i, i + HANDFUL))),
    await timedInFlight(() => answer(hotOnes)),
  ];
  print('all but the store', await time(answering(constantStore)));
  print('all, embedded store', await time(answering(new MemoryStore({ nowUs: monotonicNowUs, bucketsMax: 200_000 }))));
}

/** Nothing is written: a chunk that is full is used again. */
function addLine(lines: LineQueue, line: string): void {
  if (lines.add(line) !== undefined) throw new Error('a line was refused');
  if (lines.size < 2) return;
  const full = lines.take();
  if (full !== undefined) lines.recycle(full);
}

/** The same request under ten configured values, and under very many. */
function measureMatching(): void {
  for (const [what, key, value] of [
    ['values', 'plan', 'plan-7'],
    ['wildcards', 'path', '/api/7/items'],
  ] as const) {
    const us = [10, 100_000].map((configured) => {
      const preparation = new Preparation({ ruleSet: ruleSetOf(configured), modes: MODES, keyPrefix: '', nowUs: monotonicNowUs });
      const request = { domain: 'edge', descriptors: [{ entries: [{ key, value }] }], hits: 1 };
      if (preparation.of(request).group.takes.length !== 1) throw new Error('no rule was matched');
      return timed(() => preparation.of(request));
    });
    print(`match and key: 10, 100,000 ${what}`, us);
  }
}

/** A denied answer from the verdict to its bytes: without a body, then with each kind. */
function measureBodies(): void {
  const ruleSet = ruleSetOf(10);
  const preparation = new Preparation({ ruleSet, modes: MODES, keyPrefix: '', nowUs: monotonicNowUs });
  const request = { domain: 'edge', descriptors: [{ entries: [{ key: 'user', value: 'user-1' }] }], hits: 1 };
  const { matched } = preparation.of(request);
  const denies = { fits: false, denies: true, remaining: 0, retryAfterUs: 1_500_000, resetAfterUs: 2_000_000 } as const;
  const verdict = { overLimit: true, nowUs: monotonicNowUs(), verdicts: [denies] };
  const json = { error: 'rate_limited', limit: '{limit_name}', retry_after_s: '{retry_after_s}' };
  const bodies = ['off', 'text:Too many requests. Retry in {retry_after_s} s.', `json:${JSON.stringify(json)}`, 'problem'];
  const adding = bodies.map((body) => {
    const { responseBody, limitLimitForm: limit, limitResetForm: reset } = readSettings({ RESPONSE_BODY: body });
    const headerNames = { limit: 'a', remaining: 'b', reset: 'c' };
    const options = {
      responseHeaders: 'off',
      retryAfter: undefined,
      retryAfterMs: false,
      requestMetadata: false,
      decisionMetadata: false,
    } as const;
    return additionsFor(ruleSet, { ...options, responseBody, headerNames, headerForms: { limit, reset } });
  });
  const us = adding.map((add) =>
    timed(() => {
      const decision = toDecision(matched, verdict, monotonicNowUs);
      encodeResponse(add === undefined ? decision : add({ request, matched, verdict, decision }));
    }),
  );
  print('denial: no body, text, json, problem', us);
}

function print(step: string, us: readonly number[]): void {
  console.log(`  ${step.padEnd(36)}${us.map((each) => each.toFixed(3).padStart(8)).join('')} µs`);
}

async function main(): Promise<void> {
  for (const [name, shape] of Object.entries(SHAPES)) {
    console.log(`${name}: fresh, recurring`);
    await measure(shape);
  }
  measureMatching();
  measureBodies();
}

void main();
