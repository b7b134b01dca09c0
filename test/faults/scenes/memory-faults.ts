/** Faults of memory: a Redis without any left, and floods of keys. */

import type { TestClient } from '../../support/redis/redis-store';
import type { WeirProcess } from '../../support/processes/weir-process';
import { repeat, sleep, type During, type Fault, type Seen } from '../run/fault';
import { countFullIdleBuckets, floodFreshKeys, useIdleBuckets } from './flood';
import { onRedis } from './single-redis';
import { readMetrics, total } from '../run/weir-readings';
import { hangLimitMs } from '../../support/clock/hang-limit';

const IDLE_BUCKETS = 1_000;

/** What another user of the same Redis keeps in it, and then goes on to write: what is used least recently goes for it. */
const OTHERS_VALUES = 5_000;
const FILLED_AT_ONCE = 200;
const VALUE_BYTES = 1_000;
const VALUES_AT_ONCE = 20;
const WRITE_EVERY_MS = 20;

/** Redis tells ages by the second: what is in use is to be younger than what is not. */
const AGE_MS = 2_000;

/**
 * By so much one Weir may grow in a flood: a million buckets of its own (MEMORY_BUCKETS_MAX) of 200 bytes, what it was last
 * told of 100,000 and owes for 100,000, and as much again of garbage that is collected late.
 */
const WEIR_GROWTH_BYTES_MAX = 480_000_000;

/** What Redis's allocator may keep for itself after a flood. */
const REDIS_GROWTH_BYTES_MAX = 2_000_000;

/** Keys of the load itself, which come and go. */
const OWN_KEYS = 100;
const EXPIRY_MS_MAX = hangLimitMs(20_000);
const POLL_MS = 100;

export const MEMORY_FAULTS: readonly Fault[] = [
  {
    name: 'maxmemory, noeviction',
    done: 'Redis has no memory left and refuses every write, for 5 s',
    loses: 'nothing',
    open: onRedis(async ({ admin, size }) => {
      await admin.sendCommand(['CONFIG', 'SET', 'maxmemory', '1']);
      await sleep(size.faultMs);
      await admin.sendCommand(['CONFIG', 'SET', 'maxmemory', '0']);
      return undefined;
    }),
  },
  {
    name: 'maxmemory, allkeys-lru',
    done: 'Redis is full while another client keeps writing, for 5 s; 1,000 half-used buckets are idle meanwhile',
    loses: 'everything',
    unnoticed: true,
    open: onRedis(async ({ admin, size, weirs }) => {
      await useIdleBuckets(weirs[0]!, { keys: IDLE_BUCKETS });
      const write = makeWriter(admin);
      for (let written = 0; written < OTHERS_VALUES; written += FILLED_AT_ONCE) {
        await write({ values: FILLED_AT_ONCE });
        await sleep(WRITE_EVERY_MS);
      }
      await sleep(AGE_MS);
      await admin.sendCommand(['CONFIG', 'SET', 'maxmemory-policy', 'allkeys-lru']);
      await admin.sendCommand(['CONFIG', 'SET', 'maxmemory', String(await usedBytes(admin))]);
      await repeat(() => write({ values: VALUES_AT_ONCE }), { everyMs: WRITE_EVERY_MS, forMs: size.faultMs });
      const full = await countFullIdleBuckets(weirs[0]!, { keys: IDLE_BUCKETS });
      await admin.sendCommand(['CONFIG', 'SET', 'maxmemory', '0']);
      return { noted: `${full} of ${IDLE_BUCKETS} idle buckets evicted, so full again` };
    }),
  },
  {
    name: 'fresh keys',
    done: '1,000,000 fresh buckets, 20 in a request',
    loses: 'nothing',
    open: onRedis(async ({ admin, weirs, size }) => {
      const before = await usedBytes(admin);
      const flooded = await flood({ weirs, size });
      const grown = (await usedBytes(admin)) - before;
      const expiredMs = await untilExpired(admin, before);
      const back = expiredMs === undefined ? 'not back' : `back ${Math.round(expiredMs)} ms after the flood`;
      return {
        noted: `${flooded.noted}; Redis by ${megabytes(grown)}, ${back}`,
        ...(flooded.broken !== undefined && { broken: flooded.broken }),
        ...(expiredMs === undefined && { broken: `${EXPIRY_MS_MAX} ms after the flood Redis is not as before` }),
      };
    }),
  },
  {
    name: 'fresh keys, no Redis',
    done: '1,000,000 fresh buckets after `kill -9` of Redis; then a new, empty one',
    loses: 'everything',
    open: onRedis(async ({ redis, weirs, size }) => {
      redis.kill('SIGKILL');
      const flooded = await flood({ weirs, size });
      await redis.restart();
      return flooded;
    }),
  },
];

async function flood({ weirs, size }: During): Promise<Seen & { readonly noted: string }> {
  const before = await residentBytes(weirs);
  const failed = await floodFreshKeys(weirs, { keys: size.freshKeys });
  const grown = ((await residentBytes(weirs)) - before) / weirs.length;
  const noted = `a Weir grew by ${megabytes(grown)}`;
  if (failed > 0) return { noted, broken: `${failed} requests of the flood failed` };
  return grown > WEIR_GROWTH_BYTES_MAX ? { noted, broken: `${noted}, more than ${megabytes(WEIR_GROWTH_BYTES_MAX)}` } : { noted };
}

function makeWriter(admin: TestClient): (input: { readonly values: number }) => Promise<unknown> {
  const value = 'x'.repeat(VALUE_BYTES);
  let written = 0;
  const writeNext = (): Promise<unknown> => {
    written += 1;
    return admin.sendCommand(['SET', `another-user:${written}`, value]);
  };
  return ({ values }) => Promise.all(Array.from({ length: values }, writeNext));
}

/** How long it takes until the keys of the flood are gone and their memory with them; undefined if it takes too long. */
async function untilExpired(admin: TestClient, beforeBytes: number): Promise<number | undefined> {
  const startedMs = performance.now();
  while (performance.now() < startedMs + EXPIRY_MS_MAX) {
    const [keys, bytes] = [Number(await admin.sendCommand(['DBSIZE'])), await usedBytes(admin)];
    if (keys <= OWN_KEYS && bytes - beforeBytes <= REDIS_GROWTH_BYTES_MAX) return performance.now() - startedMs;
    await sleep(POLL_MS);
  }
  return undefined;
}

async function usedBytes(admin: TestClient): Promise<number> {
  return Number(/^used_memory:(\d+)/m.exec(await admin.sendCommand<string>(['INFO', 'memory']))?.[1]);
}

/** Of all processes together. */
async function residentBytes(weirs: readonly WeirProcess[]): Promise<number> {
  return total(await readMetrics(weirs), { name: 'process_resident_memory_bytes' });
}

function megabytes(bytes: number): string {
  return `${Math.round(bytes / 1e6)} MB`;
}
