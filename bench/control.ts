/** `npm run bench:control [-- --short]`: control data of a million tenants: memory, start, pauses, cost of a decision, time until a change is in force. */

import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { ControlData } from '../src/control/control-data';
import { ControlFollower, POLL_MS } from '../src/control/control-follower';
import type { ControlRecord } from '../src/control/control-record';
import { CHANGES_MAX, type ControlStore } from '../src/control/control-store';
import { RedisControlStore } from '../src/control/redis/redis-control-store';
import type { RateLimitRequest } from '../src/descriptor/descriptor';
import { monotonicNowUs } from '../src/lib/clock';
import type { ControlView } from '../src/rule/control-view';
import { makeShouldRateLimit, type Decide } from '../src/should-rate-limit';
import { MemoryStore } from '../src/store/memory/memory-store';
import { RedisStore } from '../src/store/redis/redis-store';
import { levelOf, limitOf, ruleOf, ruleSetOf } from '../test/support/decisions/rules';
import { startRedis } from '../test/support/redis/redis-server';
import { storeOptions } from '../test/support/redis/redis-store';
import { loadAverage } from './support/environment';

const isShort = process.argv.includes('--short');
const TENANTS = isShort ? 100_000 : 1_000_000;
const OVERRIDES = isShort ? 10_000 : 100_000;
const CHANGES = isShort ? 50 : 300;

/** Writes in flight while the Redis is filled. */
const FILLERS = 16;

const ROUNDS = 15;
const DECISIONS_PER_ROUND = 20_000;

/** The rounds of a burst of changes. */
const BURST_WRITES = 400;

/** So few merchants are most of the traffic. */
const HOT_MERCHANTS = 1_000;

const NOTE = { author: 'bench', action: 'put' };
const MB = 1024 * 1024;

function recordAt(i: number): ControlRecord {
  if (i < TENANTS) return { kind: 'tenant', domain: 'd', tenant: `merchant_${i}`, plan: ['free', 'gold', 'enterprise'][i % 3]! };
  const entries = [
    { key: 'endpoint', value: `/v1/${i % 7}` },
    { key: 'merchant', value: `merchant_${i - TENANTS}` },
  ];
  const limit = { requestsPerUnit: 300 + (i % 100), unit: 'minute' as const };
  return { kind: 'override', domain: 'd', id: `contract-${i}`, entries, limit, reason: 'contract', author: 'sales', createdAtMs: 1.7e12 };
}

async function openStore(port: number): Promise<{ readonly store: ControlStore; readonly redis: RedisStore }> {
  const redis = new RedisStore(storeOptions(port));
  await redis.connect({ waitMs: 5_000 });
  const store = new RedisControlStore({
    run: (call, options) => redis.run(call, options),
    keyPrefix: '',
    onUnreadable: (error) => {
      throw error;
    },
  });
  return { store, redis };
}

async function fill(store: ControlStore): Promise<void> {
  let next = 0;
  const fillSome = async (): Promise<void> => {
    while (next < TENANTS + OVERRIDES) {
      const from = next;
      next += CHANGES_MAX;
      const count = Math.min(CHANGES_MAX, TENANTS + OVERRIDES - from);
      const outcome = await store.write({ changes: Array.from({ length: count }, (_, i) => ({ put: recordAt(from + i) })), audit: NOTE });
      if (outcome.kind !== 'written') throw new Error(outcome.kind);
    }
  };
  await Promise.all(Array.from({ length: FILLERS }, fillSome));
}

/** Processor time of the main thread, in microseconds. */
function mainThreadUs(): number {
  return Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'latin1').split(' ')[0]) / 1_000;
}

/** The longest turn of the event loop, in milliseconds of processor time of its thread: other processes on the machine do not count. */
async function longestTurnOf<T>(
  work: () => Promise<T>,
): Promise<{ readonly result: T; readonly longestMs: number; readonly over5Ms: number }> {
  let [longestUs, over5Ms, isRunning] = [0, 0, true];
  let beforeUs = mainThreadUs();
  const look = (): void => {
    const turnUs = mainThreadUs() - beforeUs;
    longestUs = Math.max(longestUs, turnUs);
    if (turnUs > 5_000) over5Ms += 1;
    beforeUs = mainThreadUs();
    if (isRunning) setImmediate(look);
  };
  setImmediate(look);
  const result = await work();
  isRunning = false;
  return { result, longestMs: longestUs / 1_000, over5Ms };
}

function memory(): { readonly used: number; readonly resident: number } {
  globalThis.gc?.();
  globalThis.gc?.();
  const { heapUsed, external, rss } = process.memoryUsage();
  return { used: (heapUsed + external) / MB, resident: rss / MB };
}

/** Texts as the transport makes them: in one piece. */
function textOf(text: string): string {
  return Buffer.from(text, 'latin1').toString('latin1');
}

/** Merchants in turn, from this number on. */
interface Merchants {
  readonly name: string;
  readonly from: number;
  readonly count: number;
}

function requests({ from, count }: Merchants): RateLimitRequest[] {
  return Array.from({ length: DECISIONS_PER_ROUND }, (_, i) => ({
    domain: 'd',
    hits: 1,
    descriptors: [
      {
        entries: [
          { key: 'endpoint', value: textOf(`/v1/${i % 7}`) },
          { key: 'merchant', value: textOf(`merchant_${from + (Math.imul(i, 7919) % count)}`) },
        ],
      },
    ],
  }));
}

function decideWith(control: ControlView | undefined): Decide {
  const rule = ruleOf({ limits: [limitOf({ requestsPerUnit: 1e6, unit: 'minute' })] });
  const endpoint = { children: levelOf({ merchant: rule }) };
  const root = { ...levelOf({}), byKey: new Map([['endpoint', endpoint]]) };
  const ruleSet = ruleSetOf(root);
  return makeShouldRateLimit({
    ruleSet: () => ruleSet,
    store: new MemoryStore({ nowUs: monotonicNowUs, bucketsMax: 100_000 }),
    modes: { shadow: false, quota: false },
    control,
    keyPrefix: '',
    nowUs: monotonicNowUs,
    record: () => undefined,
  });
}

async function timed(decide: Decide, merchants: Merchants): Promise<number> {
  const asked = requests(merchants);
  const before = process.cpuUsage();
  for (let at = 0; at < asked.length; at += 16) await decide(asked.slice(at, at + 16), {});
  const { user, system } = process.cpuUsage(before);
  return ((user + system) * 1_000) / asked.length;
}

function quantile(values: readonly number[], part: number): number {
  return values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * part))]!;
}

/** With the plan of the tenant looked up for every request, as rules with tenants do. */
function withPlans(data: ControlData): ControlView {
  return {
    get version() {
      return data.version;
    },
    select: (domain, entries) => {
      data.planOf(domain, entries[1]?.value ?? '');
      return data.select(domain, entries);
    },
    planOf: (domain, tenant) => data.planOf(domain, tenant),
    planLimits: (domain, plan) => data.planLimits(domain, plan),
  };
}

async function compareDecisions(data: ControlData, merchants: Merchants): Promise<void> {
  const ways: Readonly<Record<string, Decide>> = {
    'control data off': decideWith(undefined),
    'on, none in the domain': decideWith(new ControlData()),
    'on, all records': decideWith(data),
    'on, all records, and the plan of the tenant': decideWith(withPlans(data)),
  };
  const times = new Map<string, number[]>();
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const [name, decide] of Object.entries(ways)) times.set(name, [...(times.get(name) ?? []), await timed(decide, merchants)]);
  }
  const off = times.get('control data off')!;
  console.log(`decisions on ${merchants.name}:`);
  for (const [name, all] of times) {
    const ratios = all.map((ns, i) => ns / off[i]!);
    console.log(`  ${name}: ${quantile(all, 0.5).toFixed(0)} ns of processor time (x${quantile(ratios, 0.5).toFixed(3)})`);
  }
}

async function timeChanges(store: ControlStore, data: ControlData): Promise<void> {
  const waits: number[] = [];
  for (let i = 0; i < CHANGES; i += 1) {
    await sleep((i * 37) % POLL_MS);
    const startedMs = performance.now();
    await store.write({
      changes: [{ put: { kind: 'block', domain: 'd', id: `b${i}`, entries: [{ key: 'ip', value: `${i}` }] } }],
      audit: NOTE,
    });
    while (data.select('d', [{ key: 'ip', value: `${i}` }]) === undefined) await sleep(1);
    waits.push(performance.now() - startedMs);
  }
  console.log(
    `from the write to its effect in another process: p50 ${quantile(waits, 0.5).toFixed(0)} ms, p99 ${quantile(waits, 0.99).toFixed(0)} ms, longest ${Math.max(...waits).toFixed(0)} ms`,
  );
}

async function burst(store: ControlStore): Promise<void> {
  for (let i = 0; i < BURST_WRITES; i += 1) {
    const changes = Array.from({ length: CHANGES_MAX }, (_, at) => ({
      put: { ...recordAt((i * CHANGES_MAX + at) % TENANTS), plan: `burst-${i % 2}` } as ControlRecord,
    }));
    await store.write({ changes, audit: NOTE });
  }
}

async function main(): Promise<void> {
  console.log(`load of the machine before: ${loadAverage()}`);
  const server = await startRedis();
  const { store, redis } = await openStore(server.port);
  const filledMs = performance.now();
  await fill(store);
  console.log(
    `${TENANTS} tenants with a plan and ${OVERRIDES} overrides, written in ${((performance.now() - filledMs) / 1_000).toFixed(1)} s`,
  );
  const before = memory();
  const data = new ControlData();
  const follower = new ControlFollower({ store, data, nowUs: monotonicNowUs, onState: () => undefined });
  const startedMs = performance.now();
  const startedUs = mainThreadUs();
  const load = await longestTurnOf(() => follower.start({ waitMs: 120_000 }));
  const seconds = (performance.now() - startedMs) / 1_000;
  const after = memory();
  if (data.size !== TENANTS + OVERRIDES) throw new Error(`${data.size} records, not all`);
  console.log(
    `start: ${seconds.toFixed(1)} s, of which ${((mainThreadUs() - startedUs) / 1e6).toFixed(1)} s processor time of the main thread; longest turn ${load.longestMs.toFixed(1)} ms, ${load.over5Ms} turns over 5 ms`,
  );
  console.log(
    `memory: ${(after.used - before.used).toFixed(0)} MB used, ${(after.resident - before.resident).toFixed(0)} MB more resident`,
  );
  const changing = await longestTurnOf(() => burst(store));
  console.log(
    `${BURST_WRITES * CHANGES_MAX} changes: longest turn ${changing.longestMs.toFixed(1)} ms, ${changing.over5Ms} turns over 5 ms (writer and replica in one process)`,
  );
  await timeChanges(store, data);
  await follower.close();
  await compareDecisions(data, { name: 'few merchants, without an override', from: OVERRIDES, count: HOT_MERCHANTS });
  await compareDecisions(data, { name: 'few merchants, each with an override', from: 0, count: HOT_MERCHANTS });
  await compareDecisions(data, { name: 'all merchants alike, a tenth with an override', from: 0, count: TENANTS });
  await redis.close();
  await server.stop();
}

void main();
