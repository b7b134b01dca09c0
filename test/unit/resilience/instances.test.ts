/** The count of instances, as far as the store tells it. */

import { HEARTBEAT_MS, Instances, type Heartbeat } from '../../../src/resilience/instances';

beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate'] });
});

afterEach(() => {
  jest.useRealTimers();
});

function open(beat: (heartbeat: Heartbeat) => Promise<number>) {
  const counts: number[] = [];
  const instances = new Instances({ beat, assumed: 4, onCount: (count) => counts.push(count) });
  return { instances, counts };
}

test('what is assumed stands until the store tells, and what it told last stands while it is away', async () => {
  let answer = () => Promise.reject<number>(new Error('away'));
  const { instances, counts } = open(() => answer());
  await instances.beat();
  expect(instances.count).toBe(4);
  answer = () => Promise.resolve(2);
  await instances.beat();
  answer = () => Promise.reject<number>(new Error('away'));
  await instances.beat();
  expect(instances.count).toBe(2);
  expect(counts).toEqual([2]);
});

test('it beats on, under one name, and not again while the store has not answered', async () => {
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
