/** 60,000 blocks that end at one instant deny nothing 200 ms later, and decisions are not slower meanwhile. */

import { setTimeout as pause } from 'node:timers/promises';
import { RedisControlStore } from '../../../src/state/control/redis/redis-control-store';
import { CHANGES_MAX } from '../../../src/state/control/control-store';
import { RedisStore } from '../../../src/state/store/redis/redis-store';
import { hangLimitMs } from '../../support/clock/hang-limit';
import { slowness } from '../../support/clock/slowness';
import { until } from '../../support/clock/until';
import { httpRequest } from '../../support/clients/http-client';
import { OVER_LIMIT, RlsClient } from '../../support/clients/rls-client';
import { writeConfig } from '../../support/config/temp-config';
import { NOTE } from '../../support/control/control-harness';
import { figure } from '../../support/docs/figure';
import { startWeir, type WeirProcess } from '../../support/processes/weir-process';
import { startRedis, type RedisServer } from '../../support/redis/redis-server';
import { storeOptions } from '../../support/redis/redis-store';

const RECORDS = 60_000;
const FILLERS = 16;

/** Ten times what docs/generated/requirements.md promises on a machine with nothing else to do. */
const ENDED_WITHIN_MS = 2_000;

/** Decisions per second: each caller asks once in an interval. */
const CALLERS = 20;
const ASK_EVERY_MS = 20;

/** How long decisions are timed before the end, and after it: within about this time the records are dropped. */
const WARM_UP_MS = 500;
const CALM_MS = 1_500;
const ENDING_MS = 1_500;

/** How many times longer the slowest hundredth of decisions may take meanwhile, beside a time that one interrupt of a busy machine takes. */
const SLOWER_MAX = 3;
const INTERRUPT_MS = 20;

/** Addresses that a new instance is asked for. */
const PROBES = 500;

const CALL = { timeoutMs: hangLimitMs(10_000) };
const TIMEOUT_MS = 300_000;

const CONFIG = writeConfig('domain: shop\ndescriptors:\n  - { key: ip, rate_limit: { unit: hour, requests_per_unit: 4000000000 } }\n');

let redis: RedisServer;
let store: RedisStore;
let control: RedisControlStore;
const closing: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  redis = await startRedis();
  store = new RedisStore(storeOptions(redis.port));
  await store.connect({ waitMs: hangLimitMs(5_000) });
  control = new RedisControlStore({ run: (call, options) => store.run(call, options), keyPrefix: '', onUnreadable: () => undefined });
});

afterAll(async () => {
  for (const close of closing.splice(0).reverse()) await close();
  await store.close();
  await redis.stop();
});

async function start(): Promise<WeirProcess> {
  const weir = await startWeir({
    config: CONFIG,
    env: { REDIS_URL: `127.0.0.1:${redis.port}`, CONTROL_DATA: 'true', REDIS_OP_TIMEOUT: '1s' },
  });
  closing.push(() => weir.stop());
  return weir;
}

function connect({ grpcPort }: WeirProcess): RlsClient {
  const client = new RlsClient(grpcPort);
  closing.push(() => {
    client.close();
    return Promise.resolve();
  });
  return client;
}

/** Writes the blocks numbered from `from` up to `to`, which end then. */
async function fill({ from, to, untilMs }: { readonly from: number; readonly to: number; readonly untilMs: number }): Promise<void> {
  let next = from;
  const fillSome = async (): Promise<void> => {
    while (next < to) {
      const first = next;
      next += CHANGES_MAX;
      const changes = Array.from({ length: Math.min(CHANGES_MAX, to - first) }, (_, i) => {
        const name = `${first + i}`;
        return { put: { kind: 'block', domain: 'shop', id: name, entries: [{ key: 'ip', value: name }], untilMs } as const };
      });
      const { kind } = await control.write({ changes, audit: NOTE });
      if (kind !== 'written') throw new Error(kind);
    }
  };
  await Promise.all(Array.from({ length: FILLERS }, fillSome));
}

const isBlocked = async (client: RlsClient, ip: string): Promise<boolean> =>
  (await client.ask('shop', [{ entries: { ip } }], CALL)).overall_code === OVER_LIMIT;

async function blocksOf({ debugPort }: WeirProcess): Promise<number> {
  const { body } = await httpRequest(`http://127.0.0.1:${debugPort}/metrics`);
  return Number(/^weir_control_records\{kind="block"\} (\d+)/m.exec(body)?.[1] ?? NaN);
}

/** Times in milliseconds of decisions about addresses that no block selects, sorted. */
async function timed(client: RlsClient, forMs: number): Promise<readonly number[]> {
  const took: number[] = [];
  const endMs = performance.now() + forMs;
  await Promise.all(
    Array.from({ length: CALLERS }, async (_, caller) => {
      await pause((caller * ASK_EVERY_MS) / CALLERS);
      while (performance.now() < endMs) {
        const startedMs = performance.now();
        await isBlocked(client, `free-${caller}`);
        took.push(performance.now() - startedMs);
        await pause(Math.max(0, ASK_EVERY_MS - (performance.now() - startedMs)));
      }
    }),
  );
  return took.sort((a, b) => a - b);
}

const p99 = (sorted: readonly number[]): number => sorted[Math.floor(sorted.length * 0.99)] ?? NaN;

/** Asks for one blocked address after the other, and resolves to when the last of them was, in milliseconds since 1970. */
async function lastBlockedMs(client: RlsClient, forMs: number): Promise<number> {
  const startedMs = performance.now();
  let lastMs = 0;
  for (let i = 0; performance.now() - startedMs < forMs; i += 1) {
    const askedMs = Date.now();
    if (await isBlocked(client, `${(i * 7_919) % RECORDS}`)) lastMs = askedMs;
    await pause(2);
  }
  return lastMs;
}

const under = (client: RlsClient, forMs: number) => Promise.all([timed(client, forMs), lastBlockedMs(client, forMs)]);

/** How many of some addresses an instance denies. */
async function blockedOf(client: RlsClient): Promise<number> {
  const asked = await Promise.all(Array.from({ length: PROBES }, (_, i) => isBlocked(client, `${(i * 7_919) % RECORDS}`)));
  return asked.filter(Boolean).length;
}

/**
 * Writes all blocks with one end, far enough ahead for the writes, for Weir to have them, and for the calm before it. A machine may become
 * busier meanwhile: what ends too soon is written again, once it has ended, with an end twice as far ahead.
 */
async function fillAll(weir: WeirProcess): Promise<number> {
  const startedMs = Date.now();
  const [part, far] = [RECORDS / 10, Date.now() + 3_600_000];
  await fill({ from: 0, to: part, untilMs: far });
  const fillMs = 10 * (Date.now() - startedMs);
  const calmMs = (WARM_UP_MS + CALM_MS) * slowness();
  for (let aheadMs = 1.5 * fillMs + calmMs + 1_000; ; aheadMs *= 2) {
    const endsMs = Date.now() + aheadMs;
    await fill({ from: 0, to: RECORDS, untilMs: endsMs });
    await until(async () => (await blocksOf(weir)) === RECORDS || Date.now() > endsMs);
    if (Date.now() + calmMs < endsMs) return endsMs;
    await until(async () => Date.now() > endsMs && (await blocksOf(weir)) === 0);
  }
}

test(
  '60,000 blocks that end at one instant: out of force on time where Weir runs and where it starts, and decisions go on',
  async () => {
    const weir = await start();
    const client = connect(weir);
    const endsMs = await fillAll(weir);
    await under(client, WARM_UP_MS);
    const [calm, lastCalmMs] = await under(client, CALM_MS);
    // It was in force until then.
    expect(lastCalmMs).toBeGreaterThan(0);
    expect(Date.now()).toBeLessThan(endsMs);
    const slow = Math.max(slowness(), slowness());
    await pause(endsMs - Date.now());
    const [ending, lastMs] = await under(client, ENDING_MS);
    expect(lastMs - endsMs).toBeLessThan(ENDED_WITHIN_MS * slow);
    // Redis keeps them for a day; a new instance has none of them in force at any time.
    const late = await start();
    const lateClient = connect(late);
    expect({ blocked: await blockedOf(lateClient), records: await blocksOf(late) }).toEqual({ blocked: 0, records: 0 });
    expect(await blockedOf(client)).toBe(0);
    await until(async () => (await blocksOf(weir)) === 0);
    figure(
      `out of force ${Math.max(0, lastMs - endsMs)} ms after their end; p99 of ${calm.length} decisions before ${p99(calm).toFixed(1)} ms, of ${ending.length} after it ${p99(ending).toFixed(1)} ms`,
    );
    expect(p99(ending)).toBeLessThan(SLOWER_MAX * p99(calm) + INTERRUPT_MS * slow);
  },
  TIMEOUT_MS,
);
