/** Hits given back restore the bucket, and a bucket without hits is deleted. */

import { ALGORITHMS } from '../../src/domain/algorithm/algorithms';
import { NOT_ADJUSTED } from '../../src/domain/bucket/take';
import { groupOf, LIMITS, adjustment, take, TEN_PER_SECOND, THREE_PER_MINUTE } from '../support/decisions/groups';
import { decided } from '../support/decisions/outcomes';
import { openClockedRedis, type ClockedRedis } from '../support/redis/redis-store';
import { startRedis, type RedisServer } from '../support/redis/redis-server';
import { storedTokenBucket } from '../support/redis/stored-token-bucket';

const START_US = 1_800_000_000_000_000;

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

async function bucketKeys(): Promise<readonly string[]> {
  return (await redis.client.keys('*')).filter((key) => key !== 'test-clock-us').sort();
}

async function commandCalls(command: string): Promise<number> {
  const stats = await redis.client.info('commandstats');
  return Number(new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(stats)?.[1] ?? 0);
}

test.each(ALGORITHMS)('a bucket whose hits all come back is deleted (%s)', async (algorithm) => {
  const limit = LIMITS[algorithm];
  await redis.store.take([groupOf([take('a', { limit, hits: 2 })])]);
  expect(await bucketKeys()).toEqual(['a']);
  expect(await redis.store.adjust([adjustment('a', { limit, hits: -2, takenAtUs: START_US })])).toEqual([2]);
  expect(await bucketKeys()).toEqual([]);
});

test('an adjustment that applies nothing writes nothing, not even a bucket that is ahead of the clock', async () => {
  await redis.store.take([groupOf([take('a', { hits: 10 })])]);
  const expiresAtMs = await redis.client.pExpireTime('a');
  await redis.setNow(START_US - 1_000_000);
  expect(await redis.store.adjust([adjustment('a'), adjustment('b', { hits: -1 })])).toEqual([0, 0]);
  expect(await storedTokenBucket(redis.client, 'a')).toBe(`10 0 ${START_US}`);
  expect(await redis.client.pExpireTime('a')).toBe(expiresAtMs);
  expect(await bucketKeys()).toEqual(['a']);
});

test('the TTL of a charge is the time to full plus 2 s, and hits given back keep it', async () => {
  const startedMs = performance.now();
  await redis.store.adjust([adjustment('a', { hits: 5 }), adjustment('b', { limit: THREE_PER_MINUTE })]);
  const [a, b] = [await redis.client.pTTL('a'), await redis.client.pTTL('b')];
  const tookMs = performance.now() - startedMs;
  expect(a).toBeGreaterThan(2_498 - tookMs);
  expect(a).toBeLessThanOrEqual(2_500);
  expect(b).toBeGreaterThan(61_998 - tookMs);
  expect(b).toBeLessThanOrEqual(62_000);
  const expiresAtMs = await redis.client.pExpireTime('a');
  expect(await redis.store.adjust([adjustment('a', { hits: -4, takenAtUs: START_US })])).toEqual([4]);
  expect(await storedTokenBucket(redis.client, 'a')).toBe(`1 0 ${START_US}`);
  expect(await redis.client.pExpireTime('a')).toBe(expiresAtMs);
});

test('each bucket is read once and written once, for any number of adjustments', async () => {
  const [readsBefore, writesBefore] = [await commandCalls('get'), await commandCalls('set')];
  await redis.store.adjust([
    adjustment('a'),
    adjustment('b'),
    adjustment('a', { hits: 3 }),
    adjustment('a', { hits: -1, takenAtUs: START_US }),
  ]);
  // One further read is the clock's.
  expect((await commandCalls('get')) - readsBefore).toBe(3);
  expect((await commandCalls('set')) - writesBefore).toBe(2);
  expect(await storedTokenBucket(redis.client, 'a')).toBe(`3 0 ${START_US}`);
});

test('a value that is not a bucket stays and changes nothing, and the others are adjusted', async () => {
  await redis.client.lPush('list', 'x');
  await redis.client.set('text', 'no bucket');
  const applied = await redis.store.adjust(['list', 'a', 'text'].map((key) => adjustment(key)));
  expect(applied).toEqual([NOT_ADJUSTED, 1, NOT_ADJUSTED]);
  expect(await redis.client.get('text')).toBe('no bucket');
});

test('a Redis that lost the script gets it with the call, which is applied once', async () => {
  for (let i = 1; i <= 3; i += 1) {
    await redis.client.scriptFlush();
    expect(await redis.store.adjust([adjustment('a')])).toEqual([1]);
    expect(await storedTokenBucket(redis.client, 'a')).toBe(`${i} 0 ${START_US}`);
  }
});

test('a dry group writes no key', async () => {
  const [outcome] = await redis.store.take([groupOf([take('a'), take('b', { limit: { ...TEN_PER_SECOND, capacity: 0 } })], { dry: true })]);
  expect(decided(outcome).overLimit).toBe(true);
  const [fits] = await redis.store.take([groupOf([take('a'), take('c', { limit: THREE_PER_MINUTE })], { dry: true })]);
  expect(decided(fits).overLimit).toBe(false);
  expect(await bucketKeys()).toEqual([]);
});
