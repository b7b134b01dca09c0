/** A step of a reservation leaves few bytes in a store, and writes nothing when Redis has no memory. */

import { recordBytesOf, RECORD_BYTES_MAX } from '../../../src/state/reservation/reservation-wire';
import { RecordTable } from '../../../src/state/reservation/record-table';
import { heldRecord, unknownRecord } from '../../../src/domain/decide/reservation';
import { redisOfFile } from '../../support/redis/redis-of-file';
import { ClockedReservations } from '../../support/redis/clocked-reservations';
import { leg } from '../../support/random/reservation-schedules';

const START_US = 1_800_000_000_000_000;
const DAY_US = 86_400_000_000;
const TAG = 'd';
const LIMIT = { algorithm: 'fixed_window' as const, windowUs: 365 * DAY_US, requestsPerUnit: 1_000, capacity: 1_000 };
const LEG = leg('1{d}fw|a', { limit: LIMIT });

/** The longest record of most legs that are allowed. */
const LARGE = Array.from({ length: 28 }, (_, i) => leg(`1{d}fw|${'"'.repeat(180)}${i}`, { limit: LIMIT }));

/** Bytes that an id may leave for a day, as .github/SECURITY.md says. */
const FEW_HUNDRED = 300;

const redis = redisOfFile();

beforeEach(async () => {
  await redis.client.flushAll();
  await redis.setNow(START_US);
});

test.each(['committed', 'released'] as const)(
  'an unknown id that is %s leaves a few hundred bytes, however long its limits are',
  async (target) => {
    const weir = new ClockedReservations(redis);
    await weir.settle(TAG, 'x'.repeat(128), { legs: LARGE, target, actual: 1 });
    expect(await redis.client.strLen(`weir:reservation:2{d}${'x'.repeat(128)}`)).toBeLessThan(FEW_HUNDRED);
    expect(await redis.client.exists(['weir:holds:2{d}', 'weir:lapses:2{d}'])).toBe(0);
  },
);

test('a reservation that is settled leaves a few hundred bytes, and a held or lapsed one no more than the bound', async () => {
  const weir = new ClockedReservations(redis);
  const bytes = recordBytesOf(LARGE);
  expect(bytes).toBeLessThanOrEqual(RECORD_BYTES_MAX);
  for (const id of ['kept', 'lapses']) await weir.reserve(TAG, id, { legs: LARGE, hits: 1, ttlUs: 1_000_000 });
  expect(await redis.client.hStrLen('weir:holds:2{d}', 'rkept')).toBeLessThanOrEqual(bytes);
  await weir.settle(TAG, 'kept', { legs: LARGE, target: 'committed', actual: 900 });
  expect(await redis.client.strLen('weir:reservation:2{d}kept')).toBeLessThan(FEW_HUNDRED);
  await redis.setNow(START_US + 1_000_000);
  await weir.reservations.sweep(TAG);
  expect(await redis.client.strLen('weir:reservation:2{d}lapses')).toBeLessThanOrEqual(bytes);
});

test('the size of a record is never estimated too low', () => {
  for (const length of [1, 20, 40]) {
    for (const key of ['k', 'k"'.repeat(40)]) {
      const edgesUs = [0, 1, 2, 3].map((day) => START_US + day * DAY_US);
      const legs = Array.from({ length }, () =>
        leg(key, { limit: { ...LIMIT, algorithm: 'sliding_window_counter', edgesUs }, overdraftMax: 1e9 }),
      );
      const text = JSON.stringify(legs.map(({ bucketKey, limit }) => [bucketKey, ...(Object.values(limit) as readonly unknown[])]));
      expect(recordBytesOf(legs)).toBeGreaterThan(text.length);
    }
  }
});

test('without memory Redis refuses each step before its first write, and nothing has changed', async () => {
  const weir = new ClockedReservations(redis);
  await weir.reserve(TAG, 'held', { legs: [LEG], hits: 10, ttlUs: 1_000_000 });
  // Its bucket stays, so that a release writes it.
  await weir.settle(TAG, 'used', { legs: [LEG], target: 'committed', actual: 3 });
  await weir.reserve(TAG, 'check', { legs: [LEG], hits: 0, ttlUs: 1_000_000 });
  const dump = async () => Promise.all((await redis.client.keys('*')).sort().map((key) => redis.client.sendCommand(['DUMP', key])));
  await redis.setNow(START_US + 1_000_000);
  const before = await dump();
  await redis.client.configSet('maxmemory', '1');
  try {
    for (const target of ['committed', 'released'] as const) {
      for (const id of ['held', 'unknown', 'check'])
        await expect(weir.settle(TAG, id, { legs: [LEG], target, actual: 0 })).rejects.toThrow();
      await expect(weir.settle(TAG, 'other', { legs: [LEG], target: 'committed', actual: 5 })).rejects.toThrow();
    }
    for (const hits of [0, 5]) await expect(weir.reserve(TAG, 'new', { legs: [LEG], hits, ttlUs: 1 })).rejects.toThrow();
    await expect(weir.reservations.extend({ name: { tag: TAG, id: 'held' }, ttlUs: 5_000_000 }, {})).rejects.toThrow();
    await expect(weir.reservations.sweep(TAG)).rejects.toThrow();
    expect(await dump()).toEqual(before);
  } finally {
    await redis.client.configSet('maxmemory', '0');
  }
  expect((await weir.reservations.sweep(TAG)).held).toBe(0);
  expect(await weir.used(LEG)).toBe(3);
});

test('records in the memory of an instance are bounded by their bytes', () => {
  const table = new RecordTable({ recordsMax: 100_000, bytesMax: 100_000 });
  const charges = LARGE.map(() => ({ charged: 1, usedBefore: 0 }));
  const held = heldRecord({ asked: 1, granted: 1, madeUs: 0, ttlUs: 1_000_000, keepUs: DAY_US, charges });
  let kept = 0;
  expect(() => {
    for (; kept < 1_000; kept += 1) {
      table.checkRoom();
      table.keep({ name: { tag: TAG, id: `r${kept}` }, legs: LARGE, record: held }, 0);
    }
  }).toThrow('the reservations held in this instance take over 100000 bytes');
  expect(kept).toBeLessThan(100_000 / LARGE.length / 180);
  // What is settled makes room by itself, the oldest first.
  for (let i = 0; i < 1_000; i += 1)
    table.keep(
      { name: { tag: TAG, id: `r${i}` }, legs: LARGE, record: unknownRecord({ legs: LARGE.length, keepUs: DAY_US, nowUs: 0 }) },
      0,
    );
  expect(table.size).toBeLessThan(100_000 / LARGE.length / 180);
  expect(table.find({ tag: TAG, id: 'r999' }, 1)).toBeDefined();
  expect(table.heldHits.size).toBe(0);
  expect(() => {
    table.checkRoom();
  }).not.toThrow();
});
