/** The count of instances, as far as the store tells it. */

import { HEARTBEAT_MS, HEARTBEAT_TTL_MS, Instances, type Heartbeat } from '../../../src/state/instances/instances';

beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate'] });
});

afterEach(() => {
  jest.useRealTimers();
});

function open(beat: (heartbeat: Heartbeat) => Promise<number>) {
  const counts: number[] = [];
  const errors: unknown[] = [];
  const clock = { nowMs: 0 };
  const instances = new Instances({
    beat,
    assumed: 4,
    onCount: (count) => counts.push(count),
    onError: (error) => errors.push(error),
    nowMs: () => clock.nowMs,
  });
  return { instances, counts, errors, clock };
}

test('the default stands until the store reports a number, and the last number stands during an outage', async () => {
  let answer = () => Promise.reject<number>(new Error('away'));
  const { instances, counts, errors } = open(() => answer());
  await instances.beat();
  expect([instances.count, errors]).toEqual([4, [new Error('away')]]);
  answer = () => Promise.resolve(6);
  await instances.beat();
  answer = () => Promise.reject<number>(new Error('away'));
  await instances.beat();
  expect([instances.count, counts]).toEqual([6, [6]]);
});

test('a lower number is believed once it has held for as long as a heartbeat counts', async () => {
  let answer: number | undefined = 2;
  const { instances, clock } = open(() => (answer === undefined ? Promise.reject(new Error('away')) : Promise.resolve(answer)));
  const countAt = async (atMs: number): Promise<number> => {
    clock.nowMs = atMs;
    await instances.beat();
    return instances.count;
  };
  expect([await countAt(0), await countAt(HEARTBEAT_TTL_MS - 1), await countAt(HEARTBEAT_TTL_MS)]).toEqual([4, 4, 2]);
  // A store that was away meanwhile has told for no time yet; nor has one that told of more in between.
  answer = 1;
  expect([await countAt(20_000), await countAt(30_000)]).toEqual([2, 2]);
  answer = undefined;
  expect(await countAt(31_000)).toBe(2);
  answer = 1;
  expect([await countAt(36_000), await countAt(50_000), await countAt(51_000)]).toEqual([2, 2, 1]);
  answer = 3;
  expect(await countAt(52_000)).toBe(3);
});

test('an even lower number has to hold for that long itself', async () => {
  let answer = 3;
  const { instances, clock } = open(() => Promise.resolve(answer));
  const countAt = async (atMs: number, told: number): Promise<number> => {
    clock.nowMs = atMs;
    answer = told;
    await instances.beat();
    return instances.count;
  };
  // One of four has left; then the store restarts empty, and this one is the first that it counts.
  expect([await countAt(0, 3), await countAt(10_000, 3), await countAt(14_000, 1), await countAt(15_000, 1)]).toEqual([4, 4, 4, 3]);
  expect([await countAt(19_000, 2), await countAt(28_000, 1)]).toEqual([3, 3]);
  // No more than two have been told since 14 s, no more than one since 28 s.
  expect([await countAt(29_000, 1), await countAt(42_999, 1), await countAt(43_000, 1)]).toEqual([2, 2, 1]);
});

test("the heartbeat repeats under one name, and waits for the store's answer", async () => {
  const beats: Heartbeat[] = [];
  let answer: (count: number) => void = () => undefined;
  const { instances } = open((heartbeat) => {
    beats.push(heartbeat);
    return new Promise((resolve) => (answer = resolve));
  });
  instances.start();
  jest.advanceTimersByTime(3 * HEARTBEAT_MS);
  expect(beats).toHaveLength(1);
  answer(1);
  await new Promise(setImmediate);
  jest.advanceTimersByTime(HEARTBEAT_MS);
  expect(beats.map(({ lives }) => lives)).toEqual([true, true]);
  const left = instances.leave({ waitMs: 100 });
  answer(0);
  await left;
  jest.advanceTimersByTime(3 * HEARTBEAT_MS);
  expect(beats.map(({ lives }) => lives)).toEqual([true, true, false]);
  expect(new Set(beats.map(({ name }) => name)).size).toBe(1);
});
