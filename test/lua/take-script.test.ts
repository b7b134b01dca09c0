/** A denied group changes no key, and a run reads and writes each bucket once. */

import { ALGORITHMS, type Algorithm } from '../../src/domain/algorithm/algorithms';
import type { Group } from '../../src/domain/bucket/take';
import { RedisStore } from '../../src/state/store/redis/redis-store';
import { StoreError } from '../../src/state/store/port/store-error';
import { groupOf, LIMITS, take, TEN_PER_SECOND, THREE_PER_MINUTE } from '../support/decisions/groups';
import { decided } from '../support/decisions/outcomes';
import { openClockedRedis, storeOptions, type ClockedRedis } from '../support/redis/redis-store';
import { startRedis, type RedisServer } from '../support/redis/redis-server';
import { storedTokenBucket } from '../support/redis/stored-token-bucket';
import { hangLimitMs } from '../support/clock/hang-limit';

const BEYOND_EXACT = String(2 ** 53);
const START_US = 1_800_000_000_000_000;
const PAIRS = ALGORITHMS.flatMap((first) => ALGORITHMS.map((second): [Algorithm, Algorithm] => [first, second]));

let server: RedisServer;
let redis: ClockedRedis;

beforeAll(async () => {
  server = await startRedis();
});

afterAll(() => server.stop());

beforeEach(async () => {
  redis = await openClockedRedis(server);
  await redis.setNow(START_US);
});

afterEach(() => redis.close());

async function run(...groups: Group[]) {
  return redis.store.take(groups);
}

/** Every key of Redis with its exact value and expiry, but for the clock. */
async function dumpAll(): Promise<Record<string, unknown>> {
  const dump: Record<string, unknown> = {};
  for (const key of (await redis.client.keys('*')).sort()) {
    if (key === 'test-clock-us') continue;
    const value = await redis.client.sendCommand(['DUMP', key]);
    const expiresAtMs = await redis.client.sendCommand(['PEXPIRETIME', key]);
    dump[key] = { value, expiresAtMs };
  }
  return dump;
}

async function commandCalls(command: string): Promise<number> {
  const stats = await redis.client.info('commandstats');
  return Number(new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(stats)?.[1] ?? 0);
}

describe('a denied group changes no key', () => {
  test.each(PAIRS)('a group with %s denied leaves %s as it was', async (deniedBy, beside) => {
    const exhausted = take('exhausted', { limit: LIMITS[deniedBy], hits: LIMITS[deniedBy].capacity });
    await run(groupOf([exhausted, take('used', { limit: LIMITS[beside], hits: 1 })]));
    const before = await dumpAll();
    expect(Object.keys(before)).toEqual(['exhausted', 'used']);
    await redis.setNow(START_US + 1_000);
    const [outcome] = await run(
      groupOf([
        take('used', { limit: LIMITS[beside], hits: 1 }),
        take('unused', { limit: LIMITS[beside], hits: 1 }),
        take('exhausted', { limit: LIMITS[deniedBy], hits: 1 }),
        take('used', { limit: LIMITS[beside], hits: -1 }),
      ]),
    );
    expect(outcome).toMatchObject({ overLimit: true });
    expect(await dumpAll()).toEqual(before);
  });

  test.each(ALGORITHMS)('a peek changes no key (%s)', async (algorithm) => {
    await run(groupOf([take('a', { limit: LIMITS[algorithm] })]));
    const before = await dumpAll();
    await redis.setNow(START_US - 3_600_000_000);
    await run(groupOf([take('a', { limit: LIMITS[algorithm], hits: 0 }), take('b', { limit: LIMITS[algorithm], hits: 0 })]));
    expect(await dumpAll()).toEqual(before);
  });
});

test('a bucket is one string, and its TTL is the time to full plus 2 s', async () => {
  const startedMs = performance.now();
  await run(groupOf([take('a', { hits: 5 }), take('b', { limit: THREE_PER_MINUTE })]));
  expect(await storedTokenBucket(redis.client, 'a')).toBe(`5 0 ${START_US}`);
  expect(await redis.client.get('b')).toBe(String(2 * START_US + 1));
  const [a, b] = [await redis.client.pTTL('a'), await redis.client.pTTL('b')];
  const tookMs = performance.now() - startedMs;
  expect(a).toBeGreaterThan(2_498 - tookMs);
  expect(a).toBeLessThanOrEqual(2_500);
  expect(b).toBeGreaterThan(61_998 - tookMs);
  expect(b).toBeLessThanOrEqual(62_000);
});

test('the TTL follows the smallest refilling limit of the group', async () => {
  const slow = { ...TEN_PER_SECOND, requestsPerUnit: 1 };
  const none = { ...TEN_PER_SECOND, requestsPerUnit: 0, capacity: 0 };
  await run(groupOf([take('a', { hits: 5 }), take('a', { hits: 0, limit: slow }), take('a', { hits: 1, limit: none, mode: 'shadow' })]));
  expect(await redis.client.pTTL('a')).toBeGreaterThan(6_000);
});

test('a write under a limit that never refills keeps the TTL', async () => {
  const none = { ...TEN_PER_SECOND, requestsPerUnit: 0, capacity: 0 };
  await run(groupOf([take('a', { hits: 9, limit: { ...TEN_PER_SECOND, requestsPerUnit: 1 } })]));
  await run(groupOf([take('a', { hits: -1, limit: none })]));
  expect(await storedTokenBucket(redis.client, 'a')).toBe(`8 0 ${START_US}`);
  expect(await redis.client.pTTL('a')).toBeGreaterThan(10_000);
});

test('a bucket that is full again has no key', async () => {
  await run(groupOf([take('a', { hits: 5 })]));
  await run(groupOf([take('a', { hits: -5 })]));
  expect(await dumpAll()).toEqual({});
});

test('Redis accepts the longest TTL, a hundred years', async () => {
  const slowest = { ...TEN_PER_SECOND, requestsPerUnit: 1, capacity: 1, windowUs: 3_153_600_000_000_000 };
  const [outcome] = await run(groupOf([take('a', { limit: slowest })]));
  expect(outcome).toMatchObject({ overLimit: false });
  expect(await redis.client.pTTL('a')).toBeGreaterThan(3_153_599_000_000);
});

test('each bucket is read once and written once, for any number of groups and takes', async () => {
  const [readsBefore, writesBefore] = [await commandCalls('get'), await commandCalls('set')];
  await run(groupOf([take('a'), take('a'), take('b')]), groupOf([take('a')]));
  // One further read and one further write are the clock's.
  expect((await commandCalls('get')) - readsBefore).toBe(3);
  expect((await commandCalls('set')) - writesBefore).toBe(2);
});

test('a key without a bucket fails its groups alone, and stays as it is', async () => {
  await redis.client.lPush('list', 'x');
  await redis.client.set('text', 'no bucket');
  const outcomes = await run(groupOf([take('a')]), groupOf([take('b'), take('list')]), groupOf([take('text')]), groupOf([take('b')]));
  expect(outcomes.map((outcome) => (outcome instanceof StoreError ? outcome.reason : decided(outcome).overLimit))).toEqual([
    false,
    'script',
    'script',
    false,
  ]);
  expect(await redis.client.get('text')).toBe('no bucket');
  expect(await storedTokenBucket(redis.client, 'b')).toBe(`1 0 ${START_US}`);
});

test.each(Object.entries(LIMITS))(
  'numbers that are invalid for %s fail their groups alone, and keep the connection',
  async (_algorithm, limit) => {
    const fill = (byte: number, length: number) => Buffer.alloc(length, byte);
    const beyond = [
      BEYOND_EXACT,
      '9'.repeat(400),
      `${BEYOND_EXACT} 0`,
      `0 ${BEYOND_EXACT}`,
      `${BEYOND_EXACT} 0 0`,
      `0 ${BEYOND_EXACT} 0`,
      `0 0 ${BEYOND_EXACT}`,
    ];
    for (const value of [...beyond, ...[12, 14, 15].flatMap((length) => [fill(0xff, length), fill(0x20, length)])]) {
      await redis.client.flushAll();
      await redis.setNow(START_US);
      await redis.client.set('a', value);
      for (const group of [groupOf([take('a', { limit })]), groupOf([take('a', { hits: 0, limit }), take('b')])]) {
        const [outcome, folded, beside] = [await run(group), await run(group, group), await run(group, groupOf([take('c')]))];
        // A log and slots hold whatever bytes there are; their times are bounded where they are answered.
        expect([outcome, folded, beside].map((outcomes) => outcomes.length)).toEqual([1, 2, 2]);
        expect(decided(beside[1]).overLimit).toBe(false);
        if (limit.algorithm !== 'sliding_window_log' && limit.algorithm !== 'in_flight') expect(outcome[0]).toBeInstanceOf(StoreError);
      }
    }
  },
);

test('values of an older format keep their counts, and are written in the new one', async () => {
  const window = LIMITS.fixed_window;
  await redis.client.set('a', `4 500000 ${START_US - 100_000}`);
  await redis.client.set('b', `${Math.floor(START_US / window.windowUs)} 2`);
  const outcomes = await run(groupOf([take('a'), take('b', { limit: window })]), groupOf([take('c')]));
  expect(decided(outcomes[0]).verdicts.map(({ remaining }) => remaining)).toEqual([6, window.capacity - 3]);
  expect(await storedTokenBucket(redis.client, 'a')).toBe(`4 500000 ${START_US}`);
  expect(await redis.client.get('b')).toBe(String(2 * (START_US - (START_US % window.windowUs)) + 3));
});

test('a bucket with a number of 400 digits fails its groups alone, folded or not', async () => {
  const index = Math.floor(START_US / THREE_PER_MINUTE.windowUs);
  await redis.client.set('broken', `${index} 1 ${'9'.repeat(400)}`);
  await redis.setNow(START_US + 1_000);
  const broken = groupOf([take('a'), take('broken', { limit: LIMITS.sliding_window_counter })]);
  const outcomes = await run(groupOf([take('a')]), broken, broken, { ...broken }, groupOf([take('a')]));
  expect(
    outcomes.map((outcome) =>
      outcome instanceof StoreError ? [outcome.reason, outcome.mayHaveRun] : decided(outcome).verdicts[0]!.remaining,
    ),
  ).toEqual([9, ['script', false], ['script', false], ['script', false], 8]);
  expect(await storedTokenBucket(redis.client, 'a')).toMatch(/^2 /);
});

test('the script in use reads the time of Redis', async () => {
  const store = new RedisStore(storeOptions(server.port));
  await store.connect({ waitMs: hangLimitMs(5_000) });
  const [seconds, micros] = await redis.client.sendCommand<[string, string]>(['TIME']);
  const [outcome] = await store.take([groupOf([take('a')])]);
  await store.close();
  const apartUs = decided(outcome).nowUs - (Number(seconds) * 1_000_000 + Number(micros));
  expect(apartUs).toBeGreaterThan(0);
  expect(apartUs).toBeLessThan(10_000_000);
});
