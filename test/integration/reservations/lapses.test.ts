/** 100,000 reservations that lapse at once come back in bounded runs, and decisions wait for few of them. */

import { setTimeout as sleep } from 'node:timers/promises';
import { redisOfFile } from '../../support/redis/redis-of-file';
import { ClockedReservations } from '../../support/redis/clocked-reservations';
import { leg } from '../../support/random/reservation-schedules';
import { Sweeper } from '../../../src/state/reservation/sweeper';
import { figure } from '../../support/docs/figure';
import { groupOf, take } from '../../support/decisions/groups';

const START_US = 1_800_000_000_000_000;
const DAY_US = 86_400_000_000;
const HOUR_US = 3_600_000_000;
const TAG = 'd';
const LIMIT = { algorithm: 'fixed_window' as const, windowUs: 365 * DAY_US, requestsPerUnit: 1_000_000, capacity: 1_000_000 };
const LEG = leg('1{d}fw|a', { limit: LIMIT, shareMax: 100 });

/** Ids that one run of the script lapses at most. */
const AT_ONCE = 20;

/** Runs that are sent together. */
const TOGETHER = 2;

const redis = redisOfFile();

beforeEach(async () => {
  await redis.client.flushAll();
  await redis.setNow(START_US);
});

/** How many ids each run lapses. */
function lapsedAtOnce({ runs }: ClockedReservations): readonly number[] {
  return runs.filter(([step]) => step === 'lapse').map((args) => Number(args[3]));
}

async function reserveMany(weir: ClockedReservations, count: number, legOf: (i: number) => typeof LEG): Promise<void> {
  for (let from = 0; from < count; from += 1_000) {
    const some = Array.from({ length: Math.min(1_000, count - from) }, (_, i) => from + i);
    await Promise.all(some.map((i) => weir.reserve(TAG, `r${i}`, { legs: [legOf(i)], hits: 1, ttlUs: 1_000_000 })));
  }
}

test('the share comes back after an outage longer than any record is kept, in a domain that always has a reservation', async () => {
  const weir = new ClockedReservations(redis);
  await weir.reserve(TAG, 'lost', { legs: [LEG], hits: 50, ttlUs: 1_000_000 });
  await weir.reserve(TAG, 'other', { legs: [{ ...LEG, bucketKey: '1{d}fw|b' }], hits: 1, ttlUs: 3 * DAY_US });
  await redis.setNow(START_US + 2 * DAY_US);
  // What a settled record had is gone by then; what was held is not.
  expect(await weir.reserve(TAG, 'new', { legs: [LEG], hits: 100, ttlUs: HOUR_US })).toMatchObject({ kind: 'decided', granted: 50 });
  await weir.settle(TAG, 'new', { legs: [LEG], target: 'released' });
  expect(await weir.reserve(TAG, 'next', { legs: [LEG], hits: 100, ttlUs: HOUR_US })).toMatchObject({ granted: 100 });
  expect(await weir.used(LEG)).toBe(100);
});

test.each(['weir:holds:2{d}', 'weir:lapses:2{d}'])('without the key %s nothing stays held', async (key) => {
  const weir = new ClockedReservations(redis);
  for (const id of ['one', 'two']) await weir.reserve(TAG, id, { legs: [LEG], hits: 40, ttlUs: 1_000_000 });
  await redis.client.del(key);
  expect(await weir.reserve(TAG, 'new', { legs: [LEG], hits: 100, ttlUs: HOUR_US })).toMatchObject({ granted: 100 });
  await redis.setNow(START_US + 2_000_000);
  expect((await weir.reservations.sweep(TAG)).held).toBe(1);
  await weir.settle(TAG, 'new', { legs: [LEG], target: 'released' });
  expect(await redis.client.exists(['weir:holds:2{d}', 'weir:lapses:2{d}'])).toBe(0);
});

test('one sweep lapses all that is due, in runs of bounded size', async () => {
  const weir = new ClockedReservations(redis);
  const count = 2_050;
  await reserveMany(weir, count, (i) => leg(`1{d}fw|${i % 300}`, { limit: LIMIT }));
  await redis.setNow(START_US + 1_000_000);
  expect(await weir.reservations.sweep(TAG)).toEqual({ held: 0, firstAfterMs: undefined });
  const lapsed = lapsedAtOnce(weir);
  expect(Math.max(...lapsed)).toBeLessThanOrEqual(AT_ONCE);
  expect(lapsed.reduce((sum, ids) => sum + ids, 0)).toBe(count);
  expect(lapsed.length).toBeLessThanOrEqual(Math.ceil(count / AT_ONCE) + TOGETHER);
  for (const i of [0, 299]) expect(await weir.used(leg(`1{d}fw|${i}`, { limit: LIMIT }))).toBe(0);
  expect(await redis.client.keys('*{d}fw*')).toEqual([]);
});

test('a reservation of many limits makes the runs smaller', async () => {
  const weir = new ClockedReservations(redis);
  const legs = Array.from({ length: 64 }, (_, i) => leg(`1{d}fw|${i}`, { limit: LIMIT }));
  for (let i = 0; i < 5; i += 1) await weir.reserve(TAG, `r${i}`, { legs, hits: 1, ttlUs: 1_000_000 });
  await redis.setNow(START_US + 1_000_000);
  expect((await weir.reservations.sweep(TAG)).held).toBe(0);
  expect(lapsedAtOnce(weir)).toEqual([0, 1, 1, 1, 1, 1]);
});

test('a sweep ends with its turn, says that more is due, and else when the next one is', async () => {
  let nowMs = 0;
  const weir = new ClockedReservations(redis, { nowMs: () => (nowMs += 1_000) });
  await reserveMany(weir, 100, () => LEG_WITHOUT_SHARE);
  await redis.setNow(START_US + 400_000);
  expect(await weir.reservations.sweep(TAG)).toEqual({ held: 100, firstAfterMs: 600 });
  await redis.setNow(START_US + 1_000_000);
  expect(await weir.reservations.sweep(TAG)).toEqual({ held: 60, firstAfterMs: 0 });
  expect(await weir.reservations.sweep(TAG)).toEqual({ held: 20, firstAfterMs: 0 });
  expect(await weir.reservations.sweep(TAG)).toEqual({ held: 0, firstAfterMs: undefined });
});

const LEG_WITHOUT_SHARE = leg('1{d}fw|a', { limit: LIMIT });

test('what another program wrote in place of records keeps no other from lapsing', async () => {
  const weir = new ClockedReservations(redis);
  await weir.reserve(TAG, 'good', { legs: [LEG], hits: 10, ttlUs: 1_000_000 });
  const texts = [
    '',
    'x',
    '1 2 3\n[]',
    '1 0 1 1 1 1 1 0 0 1 0\n[1]',
    '1 0 1 1 1 1 1 0 0 1 0\n[["k","no",1,1,1,0,0,[]]]',
    '1 0 1 1 1 1 1 0 0\n[["k"]]',
  ];
  for (let i = 0; i < 3 * AT_ONCE; i += 1) {
    await redis.client.hSet('weir:holds:2{d}', `rbad${i}`, texts[i % texts.length]!);
    await redis.client.zAdd('weir:lapses:2{d}', { score: START_US, value: `bad${i}` });
  }
  await redis.setNow(START_US + 1_000_000);
  expect((await weir.reservations.sweep(TAG)).held).toBe(0);
  expect(await weir.used(LEG)).toBe(0);
  expect(await redis.client.hLen('weir:holds:2{d}')).toBe(0);
});

test('two instances that sweep at once lapse each reservation once', async () => {
  const lapsed = [0, 0];
  const both = lapsed.map((_, i) => new ClockedReservations(redis, { onLapsed: () => (lapsed[i]! += 1) }));
  await reserveMany(both[0]!, 1_000, () => LEG_WITHOUT_SHARE);
  await redis.setNow(START_US + 1_000_000);
  for (let rounds = 0; rounds < 20; rounds += 1) {
    const swept = await Promise.all(both.map(({ reservations }) => reservations.sweep(TAG)));
    if (swept.every(({ held }) => held === 0)) break;
  }
  expect(lapsed[0]! + lapsed[1]!).toBe(1_000);
  expect(await both[0]!.used(LEG)).toBe(0);
});

const LARGE = 100_000;

/** The same reservation under other ids, each with a bucket of its own, as its Reserve would have left them. */
const COPY = `
local holds, lapses = 'weir:holds:2{d}', 'weir:lapses:2{d}'
local record, bucket = redis.call('HGET', holds, 'rr0'), redis.call('GET', '1{d}fw|0')
for i = tonumber(ARGV[1]), tonumber(ARGV[2]) do
  redis.call('HSET', holds, 'rr' .. i, (string.gsub(record, 'fw|0', 'fw|' .. i)), 'h1{d}fw|' .. i, '1')
  redis.call('SET', '1{d}fw|' .. i, bucket, 'PX', 86400000)
  redis.call('ZADD', lapses, redis.call('ZSCORE', lapses, 'r0'), 'r' .. i)
end`;

/** Times of decisions, and how many runs of lapses passed each, until the work has ended. */
async function decideDuring(
  weir: ClockedReservations,
  work: () => Promise<unknown>,
): Promise<{ p50: number; p99: number; passed: number }> {
  const waits: number[] = [];
  let passed = 0;
  const progress = { isOver: false };
  const deciding = (async () => {
    for (let i = 0; !progress.isOver; i += 1) {
      const [sentMs, ended] = [performance.now(), weir.ended];
      await redis.store.take([groupOf([take(`1{e}fw|${i}`)])]);
      waits.push(performance.now() - sentMs);
      passed = Math.max(passed, weir.ended - ended);
      await sleep(1);
    }
  })();
  await work();
  progress.isOver = true;
  await deciding;
  waits.sort((one, other) => one - other);
  const [p50 = 0, p99 = 0] = [0.5, 0.99].map((part) => waits[Math.floor(part * waits.length)] ?? 0);
  return { p50, p99, passed };
}

test('100,000 reservations that lapse at once are back in one go, and decisions wait for a few runs at most', async () => {
  const clock = { nowMs: 0 };
  const lapsed = { count: 0 };
  const weir = new ClockedReservations(redis, { onLapsed: () => (lapsed.count += 1) });
  const held: number[] = [];
  const sweeper = new Sweeper({
    reservations: weir.reservations,
    tags: () => [],
    nowMs: () => clock.nowMs,
    onHeld: (count) => held.push(count),
  });
  await weir.reserve(TAG, 'r0', { legs: [leg('1{d}fw|0', { limit: LIMIT })], hits: 1, ttlUs: 1_000_000 });
  sweeper.touch(TAG, { lapsesAfterMs: 1_000 });
  for (let from = 1; from < LARGE; from += 10_000)
    await redis.client.eval(COPY, { arguments: [String(from), String(Math.min(LARGE, from + 10_000) - 1)] });
  expect(await redis.client.zCard('weir:lapses:2{d}')).toBe(LARGE);
  const sent = weir.runs.length;
  const calm = await decideDuring(weir, () => sleep(300));
  for (; clock.nowMs < 1_000; clock.nowMs += 200) await sweeper.sweepDue();
  // Nobody asks while nothing is due.
  expect(weir.runs.length).toBe(sent);
  await redis.setNow(START_US + 1_000_000);
  const startedMs = performance.now();
  const meanwhile = await decideDuring(weir, () => sweeper.sweepDue());
  const tookMs = performance.now() - startedMs;
  expect([lapsed.count, held.at(-1)]).toEqual([LARGE, 0]);
  expect(await redis.client.keys('1{d}fw*')).toEqual([]);
  expect(await redis.client.exists(['weir:holds:2{d}', 'weir:lapses:2{d}'])).toBe(0);
  const runs = weir.runs.length - sent;
  figure(
    `${LARGE} lapses in ${tookMs.toFixed(0)} ms and ${runs} runs; decisions meanwhile: p50 ${meanwhile.p50.toFixed(1)} ms, p99 ${meanwhile.p99.toFixed(1)} ms (calm: ${calm.p50.toFixed(1)}, ${calm.p99.toFixed(1)})`,
  );
  expect(runs).toBeLessThanOrEqual(LARGE / AT_ONCE + TOGETHER);
  expect(meanwhile.passed).toBeLessThanOrEqual(2 * TOGETHER);
  expect(tookMs).toBeLessThan(200_000);
}, 600_000);
