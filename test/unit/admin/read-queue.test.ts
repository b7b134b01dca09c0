/** Reads of the admin API ask the store one at a time, with a pause after each and a bound on those that wait. */

import { queuedBuckets, queuedControl, ReadQueue } from '../../../src/administration/admin/read-queue';
import type { AdminBackend } from '../../../src/administration/admin/backend';
import { UnavailableError } from '../../../src/lib/errors';

/** The longest turn, in milliseconds. */
const TURN_MS = 100;

function open() {
  const clock = { nowMs: 0 };
  const pauses: number[] = [];
  /** Each ends a turn, as if its time had passed. */
  const turns: (() => void)[] = [];
  const queue = new ReadQueue({
    nowMs: () => clock.nowMs,
    pause: (ms) => {
      if (ms === TURN_MS) return new Promise((resolve) => turns.push(resolve));
      pauses.push(ms);
      return Promise.resolve();
    },
  });
  const trace: string[] = [];
  const read = (name: string, tookMs: number, fails = false) =>
    queue.run(async () => {
      trace.push(`${name} begins`);
      await Promise.resolve();
      clock.nowMs += tookMs;
      trace.push(`${name} ends`);
      if (fails) throw new Error(name);
      return name;
    });
  return { queue, clock, pauses, turns, trace, read };
}

test('reads run one at a time, in their order, with a pause as long as the read, but at most 10 ms', async () => {
  const { pauses, trace, read } = open();
  const answers = await Promise.allSettled([read('a', 3), read('b', 50, true), read('c', 1)]);
  expect(answers.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  expect(trace).toEqual(['a begins', 'a ends', 'b begins', 'b ends', 'c begins', 'c ends']);
  await read('d', 0);
  expect(pauses.slice(0, 3)).toEqual([3, 10, 1]);
});

test('a read without an answer holds up the next one for 100 ms and no longer, and is answered itself', async () => {
  const { queue, clock, pauses, turns, trace, read } = open();
  let answer: (text: string) => void = () => undefined;
  const hanging = queue.run(() => new Promise<string>((resolve) => (answer = resolve)));
  const next = read('next', 1);
  await new Promise(setImmediate);
  expect(trace).toEqual([]);
  clock.nowMs += TURN_MS;
  turns[0]!();
  expect(await next).toBe('next');
  expect(pauses[0]).toBe(10);
  answer('late');
  expect(await hanging).toBe('late');
  expect(await read('later', 1)).toBe('later');
});

test('beyond 256 that wait a read is refused, and later ones run', async () => {
  const { read } = open();
  const asked = Array.from({ length: 300 }, (_, i) => read(String(i), 0));
  const answers = await Promise.allSettled(asked);
  expect(answers.filter(({ status }) => status === 'fulfilled')).toHaveLength(256);
  expect(answers.at(-1)).toMatchObject({ reason: expect.any(UnavailableError) as unknown });
  expect(await read('later', 0)).toBe('later');
});

test('buckets and control data are read through it, and writes do not wait', async () => {
  const { queue, read } = open();
  let isFree = false;
  const called = (name: string) => () => Promise.resolve(`${name} ${isFree ? 'later' : 'at once'}`);
  const names = ['take', 'list', 'reset', 'read', 'scan', 'audit', 'write', 'restore', 'discardLost', 'changesBetween'];
  const all = Object.fromEntries(names.map((name) => [name, called(name)]));
  const buckets = queuedBuckets(all as unknown as AdminBackend['buckets'], queue) as unknown as typeof all;
  const control = queuedControl(all as unknown as AdminBackend['control'], queue) as unknown as typeof all;
  const before = read('before', 1).then(() => {
    isFree = true;
  });
  const answers = await Promise.all([
    ...names.slice(0, 3).map((name) => buckets[name]!()),
    ...names.slice(3).map((name) => control[name]!()),
  ]);
  await before;
  expect(answers.filter((answer) => answer.endsWith('at once'))).toEqual(
    ['reset', 'write', 'restore', 'discardLost', 'changesBetween'].map((name) => `${name} at once`),
  );
});
