/** Runs one fault under load from begin to end, and says what was seen. */

import { status } from '@grpc/grpc-js';
import { METRICS } from '../../../src/server/observability/metrics/metrics';
import { RlsClient } from '../../support/clients/rls-client';
import { startWeir, type WeirProcess } from '../../support/processes/weir-process';
import { boundsOf, type Bounds } from './bounds';
import { sleep, type Fault, type Scene, type Seen, type Size } from './fault';
import { COUNT_LIMIT, DOMAIN, isFallback, Load, shareOf, warmUp, writeLoadConfig, type Answer, type LoadPlan } from './load';
import { difference, readMetrics, responseTimes, total, type Readings, type ResponseTimes } from './weir-readings';
import { hangLimitMs } from '../../support/clock/hang-limit';

const INSTANCES = 2;
const POLL_MS = 10;

/** Two heartbeats take 10 s; on a busy host they may come much later. */
const MEET_MS = hangLimitMs(30_000);

/**
 * After the load the counts are awaited: what passed without Redis is charged in the background, with a heartbeat at the
 * latest. Enough and unchanged for a moment, or unchanged for longer than a heartbeat takes, they stand.
 */
const SETTLE_MS = hangLimitMs(60_000);
const UNCHANGED_MS = 300;
const CALM_WAIT_MS = hangLimitMs(20_000);
const HEARTBEAT_MS = 15_000;

export interface FaultResult {
  readonly name: string;
  readonly done: string;
  readonly seconds: number;
  readonly answers: number;
  readonly errors: number;
  /** The gRPC statuses of those, each with its number. */
  readonly errorStatuses: ReadonlyMap<number, number>;
  readonly fallbacks: number;
  readonly breakerOpenings: number;
  /** By Weir's own count: hits of all keys let pass without the store, and those that the store was charged for. */
  readonly passedHits: number;
  readonly chargedBackHits: number;
  /** Of these, the hits charged by the end of the load: a later charge makes up for no hit that was let pass. */
  readonly chargedBackByEndHits: number;
  readonly inside: ResponseTimes;
  /** From the time it was to be sent until the caller had the answer. */
  readonly caller: { readonly p50Ms: number; readonly p99Ms: number; readonly maxMs: number };
  readonly bounds: Bounds;
  /** From the end of the fault until each process had decided by the store again; undefined: it did not within the time. */
  readonly recoveryMs: number | undefined;
  readonly seen: Seen;
}

export async function runFault(fault: Fault, size: Size): Promise<FaultResult> {
  const scene = await fault.open(size);
  const weirs: WeirProcess[] = [];
  try {
    const plan = planOf(size);
    const config = writeLoadConfig(plan);
    const options = { config, env: { FAILURE_MODE: 'local', ...size.env, ...(fault.unnoticed && size.unnoticedEnv), ...scene.env } };
    weirs.push(...(await Promise.all(Array.from({ length: INSTANCES }, () => startWeir(options)))));
    await untilMet(weirs, scene);
    return await measure({ fault, scene, weirs, plan, size });
  } finally {
    await Promise.all(weirs.map((weir) => weir.stop()));
    await scene.close();
  }
}

/** The first of the processes counted itself alone: it learns of the other at its next heartbeat, or with its next connection. */
async function untilMet(weirs: readonly WeirProcess[], scene: Scene): Promise<void> {
  await scene.reconnect();
  for (const endMs = performance.now() + MEET_MS; performance.now() < endMs;) {
    if (total(await readMetrics(weirs), METRICS.instances) === INSTANCES * INSTANCES) return;
    await sleep(POLL_MS);
  }
  throw new Error(`the processes did not count one another within ${MEET_MS} ms`);
}

/**
 * The first calls may be too slow for the deadline, and what passed without Redis is charged later: none of that may be
 * counted as the fault's. Calm is when Redis has decided for a while, and no more was charged meanwhile.
 */
async function untilCalm(weirs: readonly WeirProcess[]): Promise<Readings> {
  let before = await readMetrics(weirs);
  let changedMs = performance.now();
  for (const endMs = changedMs + CALM_WAIT_MS; performance.now() < endMs;) {
    const askedMs = performance.now();
    const counts = await Promise.all(weirs.map(askCount));
    const now = await readMetrics(weirs);
    const moved = [METRICS.fallbackHits, METRICS.chargedBackHits].some((metric) => total(now, metric) !== total(before, metric));
    if (moved || counts.includes(undefined)) changedMs = askedMs;
    else if (askedMs - changedMs > UNCHANGED_MS) return now;
    before = now;
    await sleep(POLL_MS);
  }
  throw new Error(`Redis did not decide all calls for ${UNCHANGED_MS} ms in a row within ${CALM_WAIT_MS} ms, before any fault`);
}

/** The budget is used up in the middle of the fault. */
function planOf({ perSecond, beforeMs, faultMs }: Size): LoadPlan {
  return { perSecond, budget: Math.round((perSecond * shareOf('budget') * (beforeMs + faultMs / 2)) / 1000) };
}

interface MeasureInput {
  readonly fault: Fault;
  readonly scene: Scene;
  readonly weirs: readonly WeirProcess[];
  readonly plan: LoadPlan;
  readonly size: Size;
}

async function measure({ fault, scene, weirs, plan, size }: MeasureInput): Promise<FaultResult> {
  await Promise.all(weirs.map(warmUp));
  const before = await untilCalm(weirs);
  const load = new Load(weirs, plan);
  const startedMs = performance.now();
  const { strikeMs, endMs, recoveryMs, seen } = await strikeUnder(load, { scene, weirs, size });
  const seconds = (performance.now() - startedMs) / 1000;
  const { answers } = load;
  const atEnd = difference(before, await readMetrics(weirs));
  const run = { fault, answers, plan, strikeMs, endMs, instances: weirs.length };
  const lostCharges = async (): Promise<number> => total(difference(before, await readMetrics(weirs)), METRICS.chargeBackLostHits);
  const charged = await readCharged(weirs, {
    enough: async () => boundsOf({ ...run, charged: undefined, chargesLost: await lostCharges() }).count.chargedMin,
  });
  // After that: what passed without the store has been charged by now.
  const readings = difference(before, await readMetrics(weirs));
  return {
    name: fault.name,
    done: fault.done,
    seconds,
    answers: answers.length,
    errors: answers.filter(({ outcome }) => outcome === 'failed').length,
    errorStatuses: countStatuses(answers),
    fallbacks: total(atEnd, METRICS.fallbackDecisions),
    breakerOpenings: total(atEnd, METRICS.breakerOpenings),
    passedHits: total(readings, METRICS.fallbackHits),
    chargedBackHits: total(readings, METRICS.chargedBackHits),
    chargedBackByEndHits: total(atEnd, METRICS.chargedBackHits),
    inside: responseTimes(atEnd),
    caller: latencies(answers),
    bounds: boundsOf({ ...run, charged, chargesLost: total(readings, METRICS.chargeBackLostHits) }),
    recoveryMs,
    seen,
  };
}

interface Struck {
  readonly strikeMs: number;
  readonly endMs: number;
  readonly recoveryMs: number | undefined;
  readonly seen: Seen;
}

/** The load ends with it, also when it fails. */
async function strikeUnder(load: Load, { scene, weirs, size }: Pick<MeasureInput, 'scene' | 'weirs' | 'size'>): Promise<Struck> {
  try {
    await sleep(size.beforeMs);
    const strikeMs = performance.now();
    const seen = await scene.strike({ weirs, size });
    const endMs = performance.now();
    const recoveryMs = await untilRecovered(load.answers, { endMs, waitMs: size.recoveryMsMax });
    await sleep(size.afterMs);
    return { strikeMs, endMs, recoveryMs, seen };
  } finally {
    await load.stop();
  }
}

/** Waits until each process has decided by the store something that was sent after the fault. */
async function untilRecovered(
  answers: readonly Answer[],
  { endMs, waitMs }: { readonly endMs: number; readonly waitMs: number },
): Promise<number | undefined> {
  while (performance.now() < endMs + waitMs) {
    const byStore = answers.filter((answer) => answer.scheduledMs >= endMs && answer.outcome !== 'failed' && !answer.byFallback);
    const firsts = Array.from({ length: INSTANCES }, (_, instance) => byStore.find((answer) => answer.instance === instance));
    if (firsts.every((first) => first !== undefined)) return Math.max(...firsts.map(({ answeredMs }) => answeredMs)) - endMs;
    await sleep(POLL_MS);
  }
  return undefined;
}

/** Hits that the store has counted on the key `count`, once they are enough or no more come; undefined if it does not say. */
async function readCharged(
  weirs: readonly WeirProcess[],
  { enough }: { readonly enough: () => Promise<number> },
): Promise<number | undefined> {
  const clients = weirs.map(({ grpcPort }) => new RlsClient(grpcPort));
  const startedMs = performance.now();
  let charged: number | undefined;
  let changedMs = startedMs;
  const isSettled = async (): Promise<boolean> => {
    const unchangedMs = performance.now() - changedMs;
    return unchangedMs > UNCHANGED_MS && (unchangedMs > HEARTBEAT_MS || (charged ?? 0) >= (await enough()));
  };
  while (!(await isSettled()) && performance.now() < startedMs + SETTLE_MS) {
    // Each of them: its next answer makes it charge.
    for (const client of clients) {
      const now = await peekCount(client);
      if (now === undefined || now !== charged) changedMs = performance.now();
      charged = now ?? charged;
    }
    await sleep(POLL_MS);
  }
  for (const client of clients) client.close();
  return charged;
}

async function askCount({ grpcPort }: WeirProcess): Promise<number | undefined> {
  const client = new RlsClient(grpcPort);
  const count = await peekCount(client);
  client.close();
  return count;
}

async function peekCount(client: RlsClient): Promise<number | undefined> {
  const response = await client.ask(DOMAIN, [{ entries: { count: 'one' }, hits_addend: { value: '0' } }]).catch(() => undefined);
  return response === undefined || isFallback(response) ? undefined : COUNT_LIMIT - response.statuses[0]!.limit_remaining;
}

function countStatuses(answers: readonly Answer[]): ReadonlyMap<number, number> {
  const counts = new Map<number, number>();
  for (const { outcome, status: code = status.UNKNOWN } of answers) if (outcome === 'failed') counts.set(code, (counts.get(code) ?? 0) + 1);
  return counts;
}

function latencies(answers: readonly Answer[]): FaultResult['caller'] {
  const sorted = answers.map(({ scheduledMs, answeredMs }) => answeredMs - scheduledMs).sort((a, b) => a - b);
  const quantile = (share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN;
  return { p50Ms: quantile(0.5), p99Ms: quantile(0.99), maxMs: quantile(1) };
}
