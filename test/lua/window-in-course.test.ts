/** A charge to a fixed window in course increases its number and keeps its TTL, and a charge that begins a window sets both. */

import type { Group } from '../../src/domain/bucket/take';
import { RedisStore } from '../../src/state/store/redis/redis-store';
import { loadClockedScripts } from '../support/redis/clocked-script';
import { groupOf, take, TEN_PER_SECOND } from '../support/decisions/groups';
import { decided } from '../support/decisions/outcomes';
import { storeOptions } from '../support/redis/redis-store';
import { redisOfFile } from '../support/redis/redis-of-file';
import { hangLimitMs } from '../support/clock/hang-limit';

const START_US = 1_800_000_000_000_000;
const MINUTE_US = 60_000_000;
const WAIT_MS = hangLimitMs(20_000);
/** A TTL that no charge sets. */
const MARKED_TTL_MS = 500_000;

const WINDOW = { ...TEN_PER_SECOND, algorithm: 'fixed_window', windowUs: MINUTE_US } as const;

const redis = redisOfFile();

beforeEach(async () => {
  await redis.client.flushAll();
  await redis.setNow(START_US);
  await redis.client.configResetStat();
});

function hitsOn(...keys: readonly string[]): Group {
  return groupOf(keys.map((key) => take(key, { limit: WINDOW })));
}

function stored(used: number, startUs = START_US): string {
  return String(2 * startUs + used);
}

async function callsOf(command: string): Promise<number> {
  return Number(new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(await redis.client.info('commandstats'))?.[1] ?? 0);
}

/** Begins the window with one hit and marks its TTL. */
async function begin(...keys: readonly string[]): Promise<void> {
  await redis.store.take([hitsOn(...keys)]);
  for (const key of keys) await redis.client.pExpire(key, MARKED_TTL_MS);
  await redis.client.configResetStat();
}

async function hasMarkedTtl(key: string): Promise<boolean> {
  return (await redis.client.pTTL(key)) > MINUTE_US / 1_000 + 5_000;
}

test('a charge in the course of a window is one INCRBY, which keeps the TTL', async () => {
  await begin('a');
  await redis.store.take([groupOf([take('a', { limit: WINDOW, hits: 4 })])]);
  expect(await redis.client.get('a')).toBe(stored(5));
  expect(await hasMarkedTtl('a')).toBe(true);
  expect([await callsOf('incrby'), await callsOf('set')]).toEqual([1, 0]);
});

test('the first charge of the next window sets the number and the TTL', async () => {
  await begin('a');
  await redis.setNow(START_US + MINUTE_US);
  await redis.store.take([hitsOn('a')]);
  expect(await redis.client.get('a')).toBe(stored(1, START_US + MINUTE_US));
  expect(await hasMarkedTtl('a')).toBe(false);
  expect(await callsOf('incrby')).toBe(0);
});

test('groups of one run that begin a window and charge it again write it once, with a TTL', async () => {
  await redis.store.take([hitsOn('a'), hitsOn('a', 'b'), hitsOn('a')]);
  expect([await redis.client.get('a'), await redis.client.get('b')]).toEqual([stored(3), stored(1)]);
  expect(await redis.client.pTTL('a')).toBeGreaterThan(0);
  // Where the server has it, one MSETEX writes both.
  const calls = [await callsOf('incrby'), await callsOf('set'), await callsOf('msetex')];
  expect([
    [0, 2, 0],
    [0, 0, 1],
  ]).toContainEqual(calls);
});

test('groups of one run that charge a window in course increase it once, by the hits of all of them', async () => {
  await begin('a', 'b');
  const outcomes = await redis.store.take([hitsOn('a', 'b'), hitsOn('a'), hitsOn('a'), groupOf([take('a', { limit: WINDOW, hits: 3 })])]);
  expect(outcomes.map((outcome) => decided(outcome).verdicts[0]!.remaining)).toEqual([8, 7, 6, 3]);
  expect([await redis.client.get('a'), await redis.client.get('b')]).toEqual([stored(7), stored(2)]);
  expect([await hasMarkedTtl('a'), await hasMarkedTtl('b')]).toEqual([true, true]);
  expect([await callsOf('incrby'), await callsOf('set')]).toEqual([2, 0]);
});

test('a denied group between two others leaves their charges, and none of its own', async () => {
  await begin('a', 'b');
  const tooMany = groupOf([take('a', { limit: WINDOW }), take('b', { limit: WINDOW, hits: 10 })]);
  const outcomes = await redis.store.take([hitsOn('a'), tooMany, hitsOn('a', 'b')]);
  expect(outcomes.map((outcome) => decided(outcome).overLimit)).toEqual([false, true, false]);
  expect([await redis.client.get('a'), await redis.client.get('b')]).toEqual([stored(3), stored(2)]);
});

test('a window that the general path charged in the same run is written with a TTL', async () => {
  // Two takes on one bucket of a group go the general way.
  const twice = groupOf([take('a', { limit: WINDOW }), take('a', { limit: WINDOW })]);
  for (const groups of [
    [hitsOn('a'), twice],
    [twice, hitsOn('a')],
  ]) {
    await redis.client.del('a');
    await begin('a');
    await redis.store.take(groups);
    expect(await redis.client.get('a')).toBe(stored(4));
    expect(await redis.client.pTTL('a')).toBeGreaterThan(0);
  }
});

test('windows of the older text and of numbers that Redis does not increase keep their counts', async () => {
  for (const text of [`${START_US / MINUTE_US} 2`, `${stored(2)}.0`, ` ${stored(2)}`]) {
    await redis.client.set('a', text, { expiration: { type: 'PX', value: MARKED_TTL_MS } });
    await redis.store.take([hitsOn('a'), hitsOn('a')]);
    expect(await redis.client.get('a')).toBe(stored(4));
    expect(await redis.client.pTTL('a')).toBeGreaterThan(0);
  }
});

test('a user without the right to INCRBY writes with SET, and keeps the TTL', async () => {
  await begin('a', 'b');
  await redis.client.sendCommand(['ACL', 'SETUSER', 'weir', 'reset', 'on', '>secret', '~*', '+@all', '-incrby']);
  const { server: at, ...options } = storeOptions(redis.port);
  const store = new RedisStore({ ...options, server: { ...at, username: 'weir', password: 'secret' }, scripts: loadClockedScripts() });
  try {
    await store.connect({ waitMs: WAIT_MS });
    await store.take([hitsOn('a', 'b'), hitsOn('c')]);
  } finally {
    await store.close();
  }
  expect(await redis.client.mGet(['a', 'b', 'c'])).toEqual([stored(2), stored(2), stored(1)]);
  expect([await hasMarkedTtl('a'), await hasMarkedTtl('b'), await hasMarkedTtl('c')]).toEqual([true, true, false]);
});

test('a window in course that Redis has no memory to increase stays as it is', async () => {
  await begin('a');
  await redis.client.sendCommand(['CONFIG', 'SET', 'maxmemory', '1']);
  try {
    await expect(redis.store.take([hitsOn('a')])).rejects.toMatchObject({ mayHaveRun: false, message: 'Redis answered the error OOM' });
  } finally {
    await redis.client.sendCommand(['CONFIG', 'SET', 'maxmemory', '0']);
  }
  expect(await redis.client.get('a')).toBe(stored(1));
});
