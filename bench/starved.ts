/** Decisions on a host without processor time: busy loops beside Weir, Redis and the callers; how many are decided without Redis, of one Weir or of several side by side. */

import { spawn, type ChildProcess } from 'node:child_process';
import { loadavg } from 'node:os';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import type { ServiceError } from '@grpc/grpc-js';
import { startRedis } from '../test/support/redis/redis-server';
import { RlsClient } from '../test/support/clients/rls-client';
import { writeConfig } from '../test/support/config/temp-config';
import { startWeir, type WeirProcess } from '../test/support/processes/weir-process';

const BUSY_LOOPS = 4;
const PER_SECOND = 200;
const SECONDS = 20;

/** The callers have no processor time either: none of them is to give up before Weir does. */
const CALLER_TIMEOUT_MS = 60_000;

const CONFIG = writeConfig('domain: d\ndescriptors: [{ key: k, rate_limit: { unit: hour, requests_per_unit: 1000000000 } }]\n');

/** Ends by itself, should this process be killed. */
const BUSY = (seconds: number) => `const end = Date.now() + ${seconds * 1_000}; while (Date.now() < end);`;

interface Tally {
  readonly name: string;
  readonly weir: WeirProcess;
  readonly client: RlsClient;
  readonly latenciesMs: number[];
  readonly stop: () => Promise<void>;
  byFallback: number;
  failed: number;
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: { weir: { type: 'string', multiple: true }, seconds: { type: 'string' }, timeout: { type: 'string' } },
  });
  const seconds = Number(values.seconds ?? SECONDS);
  const timeoutMs = Number(values.timeout ?? CALLER_TIMEOUT_MS);
  const roots = values.weir ?? [resolve(__dirname, '..')];
  const tallies = await Promise.all(roots.map(start));
  const busy = Array.from({ length: BUSY_LOOPS }, () => spawn(process.execPath, ['-e', BUSY(seconds + 30)], { stdio: 'ignore' }));
  try {
    await Promise.all(tallies.map((tally) => load(tally, { seconds, timeoutMs })));
  } finally {
    await Promise.all(busy.map(end));
  }
  console.log(
    `${BUSY_LOOPS} busy loops, ${PER_SECOND} calls a second to each Weir for ${seconds} s, load average ${loadavg()[0]!.toFixed(1)}`,
  );
  for (const { name, weir, latenciesMs, byFallback, failed } of tallies) {
    const answered = latenciesMs.length;
    const openings = /^weir_breaker_openings_total\S* (\d+)/m.exec(await metricsOf(weir))?.[1] ?? '?';
    const ms = [0.5, 0.99, 1].map((part) => percentile(latenciesMs, part).toFixed(1)).join(' / ');
    console.log(
      `${name}: ${answered} answers, ${byFallback} without Redis (${((100 * byFallback) / answered).toFixed(2)} %), ${failed} failed, breaker opened ${openings} times, ms p50 / p99 / max ${ms}`,
    );
  }
  await Promise.all(tallies.map(({ stop }) => stop()));
}

async function start(root: string): Promise<Tally> {
  const redis = await startRedis();
  const env = { REDIS_URL: `redis://127.0.0.1:${redis.port}`, FAILURE_MODE: 'local' };
  const weir = await startWeir({ config: CONFIG, env, command: [process.execPath, resolve(root, 'dist', 'main.js'), 'serve'] });
  const client = new RlsClient(weir.grpcPort);
  const stop = async (): Promise<void> => {
    client.close();
    await weir.stop();
    await redis.stop();
  };
  return { name: root, weir, client, latenciesMs: [], stop, byFallback: 0, failed: 0 };
}

/** Each call has its time, whatever became of the one before. */
async function load(tally: Tally, { seconds, timeoutMs }: { readonly seconds: number; readonly timeoutMs: number }): Promise<void> {
  const startedMs = performance.now();
  const calls: Promise<void>[] = [];
  for (let sent = 0; sent < seconds * PER_SECOND;) {
    for (; sent * 1_000 <= (performance.now() - startedMs) * PER_SECOND && sent < seconds * PER_SECOND; sent += 1)
      calls.push(ask(tally, timeoutMs));
    await new Promise((done) => setTimeout(done, 1));
  }
  await Promise.all(calls);
}

async function ask(tally: Tally, timeoutMs: number): Promise<void> {
  const startedMs = performance.now();
  try {
    const { dynamic_metadata: metadata } = await tally.client.ask('d', [{ entries: { k: 'v' } }], { timeoutMs });
    if (metadata?.fields.decided_by?.stringValue === 'fallback') tally.byFallback += 1;
    tally.latenciesMs.push(performance.now() - startedMs);
  } catch (error) {
    tally.failed += 1;
    if (tally.failed === 1) console.log(`${tally.name}: ${(error as ServiceError).message}`);
  }
}

async function metricsOf({ httpPort, debugPort }: WeirProcess): Promise<string> {
  for (const port of [debugPort, httpPort]) {
    const response = await fetch(`http://127.0.0.1:${port}/metrics`).catch(() => undefined);
    if (response?.ok === true) return response.text();
  }
  return '';
}

/** Of a part of the calls, from 0 to 1: none of them took longer. */
function percentile(valuesMs: readonly number[], part: number): number {
  const sorted = [...valuesMs].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))] ?? NaN;
}

function end(child: ChildProcess): Promise<unknown> {
  const ended = new Promise((done) => child.once('exit', done));
  child.kill('SIGKILL');
  return ended;
}

main().then(
  () => process.exit(0),
  (error: unknown) => {
    console.error(error);
    process.exit(1);
  },
);
