/** `npm run bench -- control [--short]`: control data of a million tenants: memory, start, pauses, cost of a decision, time until a change is in force. */

import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ControlData } from '../src/state/control/control-data';
import { ControlFollower, POLL_MS } from '../src/state/control/control-follower';
import { keyOf } from '../src/state/control/control-record';
import type { ControlStore, LoggedChange } from '../src/state/control/control-store';
import { RedisControlStore } from '../src/state/control/redis/redis-control-store';
import { monotonicNowUs } from '../src/lib/clock';
import { RedisStore } from '../src/state/store/redis/redis-store';
import { startRedis } from '../test/support/redis/redis-server';
import { makeTestClient, storeOptions, type TestClient } from '../test/support/redis/redis-store';
import { decisionCosts, type Asked } from './control/decision-cost';
import { measureFloors } from './control/floors';
import { blockAt, burst, fill, FULL, NOTE, SHORT, type Size } from './control/records';
import { renderControl, type Start } from './control/report';
import { longestTurnOf } from './control/turns';
import { describeEnvironment, loadAverage } from './support/environment';
import { publishSection } from './support/generated-doc';
import { processorTimeUs, redisVersion } from './support/redis-figures';
import { spreadOf } from './support/statistics';

const RESULTS = path.join(__dirname, 'results.md');

const isShort = process.argv.includes('--short');
const SIZE: Size = isShort ? SHORT : FULL;

/** So few are most of the traffic. */
const HOT = 1_000;

const MB = 1024 * 1024;

/** Adds the time of some calls. */
class Stopwatch {
  ms = 0;

  run<T>(work: () => T): T {
    const startedMs = performance.now();
    try {
      return work();
    } finally {
      this.ms += performance.now() - startedMs;
    }
  }
}

interface Opened {
  readonly store: ControlStore;
  readonly redis: RedisStore;
  /** Time in which replies became records. */
  readonly parsing: Stopwatch;
}

async function openStore(port: number): Promise<Opened> {
  const redis = new RedisStore(storeOptions(port));
  await redis.connect({ waitMs: 5_000 });
  const parsing = new Stopwatch();
  const store = new RedisControlStore({
    run: (call, options) => redis.run({ ...call, read: (reply) => parsing.run(() => call.read(reply)) }, options),
    keyPrefix: '',
    onUnreadable: ({ kind, problem }) => {
      throw new Error(`a record of ${kind}: ${problem}`);
    },
  });
  return { store, redis, parsing };
}

function memory(): { readonly used: number; readonly resident: number } {
  globalThis.gc?.();
  globalThis.gc?.();
  const { heapUsed, external, rss } = process.memoryUsage();
  return { used: (heapUsed + external) / MB, resident: rss / MB };
}

/** The time in which records come into the replica. The class is as before afterwards: decisions measure it as it is. */
async function timeApplying<T>(work: () => Promise<T>): Promise<{ readonly result: T; readonly ms: number }> {
  const watch = new Stopwatch();
  const { prototype } = ControlData;
  const apply = Object.getOwnPropertyDescriptor(prototype, 'apply');
  if (apply === undefined) throw new Error('control data have no method apply');
  const { value: untimed } = apply as { readonly value: (this: ControlData, change: LoggedChange) => void };
  prototype.apply = function timed(change) {
    watch.run(() => {
      untimed.call(this, change);
    });
  };
  const result = await work();
  Object.defineProperty(prototype, 'apply', apply);
  return { result, ms: watch.ms };
}

interface Following {
  readonly data: ControlData;
  readonly follower: ControlFollower;
  readonly start: Start;
}

async function startFollower({ store, parsing }: Opened, admin: TestClient): Promise<Following> {
  const before = memory();
  const data = new ControlData();
  const follower = new ControlFollower({ store, data, nowUs: monotonicNowUs, onState: () => undefined });
  const redisUs = await processorTimeUs(admin);
  parsing.ms = 0;
  const usage = process.cpuUsage();
  const startedMs = performance.now();
  const { result: turns, ms: applyingMs } = await timeApplying(() => longestTurnOf(() => follower.start({ waitMs: 120_000 })));
  const seconds = (performance.now() - startedMs) / 1_000;
  const { user, system } = process.cpuUsage(usage);
  if (data.size !== SIZE.tenants + SIZE.overrides) throw new Error(`${data.size} records, not all`);
  const redisSeconds = ((await processorTimeUs(admin)) - redisUs) / 1e6;
  const after = memory();
  const start: Start = {
    seconds,
    processorSeconds: (user + system) / 1e6,
    redisSeconds,
    parsingSeconds: parsing.ms / 1_000,
    applyingSeconds: applyingMs / 1_000,
    turns,
    usedMb: after.used - before.used,
    residentMb: after.resident - before.resident,
  };
  return { data, follower, start };
}

/** From a write to its effect in another process, in milliseconds. */
async function timeChanges(store: ControlStore, data: ControlData): Promise<readonly number[]> {
  const waits: number[] = [];
  for (let i = 0; i < SIZE.changes; i += 1) {
    await sleep((i * 37) % POLL_MS);
    const startedMs = performance.now();
    const put = { kind: 'pass', domain: 'd', id: `p${i}`, entries: [{ key: 'other', value: `${i}` }] } as const;
    await store.write({ changes: [{ put }], audit: NOTE });
    while (data.select('d', [{ key: 'other', value: `${i}` }]) === undefined) await sleep(1);
    waits.push(performance.now() - startedMs);
  }
  return waits;
}

function rowsToAsk(): Asked[] {
  const { tenants, overrides } = SIZE;
  const tenant = { key: 'account', prefix: 'merchant_' } as const;
  const merchant = { key: 'merchant', prefix: 'merchant_' } as const;
  const ip = { key: 'ip', prefix: 'ip_' } as const;
  return [
    { name: 'plan of a tenant, few tenants ask', ...tenant, from: 0, count: HOT },
    { name: 'plan of a tenant, all ask alike', ...tenant, from: 0, count: tenants },
    { name: 'no override, few merchants ask', ...merchant, from: overrides, count: HOT },
    { name: 'no override, many merchants ask alike', ...merchant, from: overrides, count: tenants },
    { name: 'an override, few merchants ask', ...merchant, from: 0, count: HOT },
    { name: 'an override each, all ask alike', ...merchant, from: 0, count: overrides },
    { name: 'no block, few addresses ask', ...ip, from: overrides, count: HOT },
    { name: 'no block, many addresses ask alike', ...ip, from: overrides, count: tenants },
    { name: 'a block, few addresses ask', ...ip, from: 0, count: HOT },
  ];
}

async function main(): Promise<void> {
  const loadBefore = loadAverage();
  const server = await startRedis();
  const admin = makeTestClient(server.port);
  await admin.connect();
  const opened = await openStore(server.port);
  await fill(opened.store, SIZE);
  const { data, follower, start } = await startFollower(opened, admin);
  const changing = await longestTurnOf(() => burst(opened.store, SIZE));
  const changes = await timeChanges(opened.store, data);
  await follower.close();
  const empty = new ControlData();
  const elsewhere = { ...blockAt(0), domain: 'e' };
  empty.apply({ key: keyOf(elsewhere), version: 1, record: elsewhere });
  const nothing = await decisionCosts(empty, [
    { name: 'records only in another domain', key: 'merchant', prefix: 'merchant_', from: 0, count: HOT },
  ]);
  for (let i = 0; i < SIZE.overrides; i += 1) {
    const record = blockAt(i);
    data.apply({ key: keyOf(record), version: monotonicNowUs(), record });
  }
  const costs = await decisionCosts(data, rowsToAsk());
  const floors = measureFloors();
  const markdown = renderControl({
    environment: describeEnvironment({ redis: await redisVersion(admin) }),
    load: { before: loadBefore, after: loadAverage() },
    size: SIZE,
    start,
    changing,
    changes: { spread: spreadOf(changes), p99Ms: changes.toSorted((a, b) => a - b)[Math.floor(changes.length * 0.99)] ?? 0 },
    floors,
    costs: { matching: [...nothing.matching, ...costs.matching], decision: [...nothing.decision, ...costs.decision] },
  });
  console.log(`\n${markdown}\n`);
  if (!isShort) publishSection({ file: RESULTS, name: 'control', command: 'npm run bench -- control', markdown });
  await opened.redis.close();
  admin.destroy();
  await server.stop();
}

void main();
