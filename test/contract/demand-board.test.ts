/** The demand of members is summed over all processes by window, is bounded in number, and ends two windows later, in Redis and in memory. */

import type { DemandBoard, DemandWindow } from '../../src/state/fair/demand-board';
import { MEMBERS_MAX } from '../../src/state/fair/demand-board';
import { MemoryDemandBoard } from '../../src/state/fair/memory-demand-board';
import { RedisDemandBoard } from '../../src/state/fair/redis-demand-board';
import { redisOfFile } from '../support/redis/redis-of-file';

const redis = redisOfFile();

const MINUTE_US = 60_000_000;
const WINDOW: DemandWindow = { bucket: '1{d}fw60|k=v', startUs: 1_800_000_000_000_000, windowUs: MINUTE_US };

/** Two processes on one store. */
const STORES: Readonly<Record<string, () => Promise<readonly [DemandBoard, DemandBoard]>>> = {
  redis: async () => {
    await redis.client.flushAll();
    const open = () => new RedisDemandBoard({ run: (call, options) => redis.store.run(call, options), keyPrefix: 'p:' });
    return [open(), open()];
  },
  memory: () => {
    const board = new MemoryDemandBoard();
    return Promise.resolve([board, board]);
  },
};

describe.each(Object.keys(STORES))('%s', (name) => {
  let boards: readonly [DemandBoard, DemandBoard];

  beforeEach(async () => {
    boards = await STORES[name]!();
  });

  test('the counts of all processes are summed, by window and limit', async () => {
    const [one, two] = boards;
    await one.add(WINDOW, new Map(Object.entries({ a: 3, b: 1 })));
    await two.add(WINDOW, new Map(Object.entries({ a: 4, '': 2 })));
    await two.add({ ...WINDOW, startUs: WINDOW.startUs + MINUTE_US }, new Map([['a', 9]]));
    await two.add({ ...WINDOW, bucket: '1{d}fw60|k=w' }, new Map([['a', 9]]));
    expect(await one.read(WINDOW)).toEqual(new Map(Object.entries({ a: 7, b: 1, '': 2 })));
    expect(await two.read({ ...WINDOW, bucket: 'x' })).toEqual(new Map());
  });

  test('names may be any bytes, and hits as many as a limit has from a thousand processes', async () => {
    const [one, two] = boards;
    const names = ['\u0000', '\u00ff\u00e9 =|{}', '__proto__', '7', ' '];
    for (let i = 0; i < 1_000; i += 1) await one.add(WINDOW, new Map(names.map((member) => [member, Number.MAX_SAFE_INTEGER])));
    const counts = await two.read(WINDOW);
    expect([...counts.keys()].sort()).toEqual([...names].sort());
    for (const hits of counts.values()) expect(hits).toBeGreaterThanOrEqual(Number.MAX_SAFE_INTEGER);
  });

  test('members beyond the bound are counted together, and known ones still by name', async () => {
    const [one, two] = boards;
    const flood = (from: number) => new Map(Array.from({ length: MEMBERS_MAX }, (_, i) => [`m${from + i}`, 1]));
    await one.add(WINDOW, flood(0));
    await two.add(WINDOW, flood(MEMBERS_MAX));
    await two.add(WINDOW, new Map([['m0', 5]]));
    const counts = await one.read(WINDOW);
    expect(counts.size).toBeLessThanOrEqual(MEMBERS_MAX + 1);
    expect([counts.get('m0'), counts.get('')]).toEqual([6, MEMBERS_MAX]);
  });
});

test('a key of Redis ends with the window after its own, and each call is bounded', async () => {
  const [one] = await STORES.redis!();
  await redis.client.sendCommand(['CONFIG', 'RESETSTAT']);
  await one.add(WINDOW, new Map(Array.from({ length: MEMBERS_MAX }, (_, i) => [`m${i}`, 1])));
  const [key, ...others] = await redis.client.keys('*');
  expect([key, others]).toEqual(['p:weir:fair:1800000000000000:1{d}fw60|k=v', []]);
  const ttlMs = await redis.client.pTTL(key!);
  expect(ttlMs).toBeGreaterThan(60_000);
  expect(ttlMs).toBeLessThanOrEqual(125_000);
  expect(await redis.client.info('commandstats')).toMatch(/cmdstat_evalsha:calls=4,/);
});

test('another value at the key is an error that says so, and none is lost of others', async () => {
  const [one] = await STORES.redis!();
  await redis.client.set('p:weir:fair:1800000000000000:1{d}fw60|k=v', 'text');
  await expect(one.add(WINDOW, new Map([['a', 1]]))).rejects.toThrow();
  await expect(one.read(WINDOW)).rejects.toThrow();
});

test('the memory of one process holds 40,000 members, and drops the oldest window first', async () => {
  const board = new MemoryDemandBoard();
  const members = new Map(Array.from({ length: MEMBERS_MAX }, (_, i) => [`m${i}`, 1]));
  const windowOf = (i: number) => ({ ...WINDOW, bucket: `b${i}` });
  for (let i = 0; i < 50; i += 1) await board.add(windowOf(i), members);
  const kept = await Promise.all(Array.from({ length: 50 }, async (_, i) => (await board.read(windowOf(i))).size > 0));
  expect(kept).toEqual(Array.from({ length: 50 }, (_, i) => i >= 10));
  await board.add({ ...windowOf(99), startUs: WINDOW.startUs + 2 * MINUTE_US }, members);
  expect((await board.read(windowOf(49))).size).toBe(0);
});
