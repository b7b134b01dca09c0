/** The hits of a rollout are counted over all processes by slots of time, and begin again with each stage, in Redis and in memory. */

import { MemoryRolloutCounter } from '../../src/state/rollout/memory-rollout-counter';
import { RedisRolloutCounter } from '../../src/state/rollout/redis-rollout-counter';
import type { PartCounts, RolloutCounter } from '../../src/state/rollout/rollout-counter';
import { measure } from '../../src/state/rollout/rollout-watch';
import { loadClockedScript, setClock } from '../support/redis/clocked-script';
import { redisOfFile } from '../support/redis/redis-of-file';

const redis = redisOfFile();

const START_US = 1_800_000_000_000_000;
const NAME = { domain: 'd/é', rule: 'path_/payment.client' };

const hits = (candidate: number, over: number, current = 0): PartCounts => ({
  candidate: { hits: candidate, over },
  current: { hits: current, over: 0 },
});

interface Opened {
  /** Two processes on one store. */
  readonly counters: readonly [RolloutCounter, RolloutCounter];
  readonly setNow: (nowUs: number) => Promise<void>;
}

const STORES: Readonly<Record<string, () => Promise<Opened>>> = {
  redis: async () => {
    await redis.client.flushAll();
    const open = () =>
      new RedisRolloutCounter({
        run: (call, options) => redis.store.run(call, options),
        keyPrefix: 'p:',
        script: loadClockedScript('rollout'),
      });
    return { counters: [open(), open()], setNow: (nowUs) => setClock(redis.client, nowUs) };
  },
  memory: () => {
    let nowUs = 0;
    const counter = new MemoryRolloutCounter(() => nowUs);
    return Promise.resolve({
      counters: [counter, counter],
      setNow: (us) => {
        nowUs = us;
        return Promise.resolve();
      },
    });
  },
};

describe.each(Object.entries(STORES))('%s', (_, open) => {
  test('processes add to one count, and a guard measures the last slots', async () => {
    const { counters, setNow } = await open();
    const [one, other] = counters;
    await setNow(START_US);
    expect(await one.read(NAME)).toBeUndefined();
    await one.add({ ...NAME, version: 7, widthS: 2, counts: hits(100, 50, 7) });
    await setNow(START_US + 61_000_000);
    const all = await other.add({ ...NAME, version: 7, widthS: 2, counts: hits(10, 1) });
    expect(all).toMatchObject({
      version: 7,
      sinceUs: START_US,
      total: { candidate: { hits: 110, over: 51 }, current: { hits: 7, over: 0 } },
    });
    expect(await one.read(NAME)).toEqual(all);
    if (all === undefined) throw new Error('no counts');
    expect(measure(all, { deniedAbove: 0.02, forS: 60 })).toEqual({ hits: 10, over: 1 });
    // The stage is younger.
    expect(measure(all, { deniedAbove: 0.02, forS: 62 })).toBeUndefined();
  });

  test('another stage begins the counts again, and hits of an earlier one are dropped', async () => {
    const { counters, setNow } = await open();
    const [one, other] = counters;
    await setNow(START_US);
    await one.add({ ...NAME, version: 1, widthS: 10, counts: hits(5, 5) });
    await one.add({ ...NAME, version: 2, widthS: 10, counts: hits(3, 0) });
    const late = await other.add({ ...NAME, version: 1, widthS: 10, counts: hits(900, 900) });
    expect(late).toMatchObject({ version: 2, total: { candidate: { hits: 3, over: 0 } } });
  });

  test('slots are bounded, whatever the clock does, and totals stay', async () => {
    const { counters, setNow } = await open();
    const [one] = counters;
    let all;
    for (let i = 0; i < 200; i += 1) {
      await setNow(START_US + (i % 50 === 49 ? -1 : 1) * i * 1_000_000);
      all = await one.add({ ...NAME, version: 1, widthS: 1, counts: hits(1, 0) });
    }
    expect(all?.total.candidate.hits).toBe(200);
    expect(all?.slots.length).toBeLessThanOrEqual(128);
  });
});
