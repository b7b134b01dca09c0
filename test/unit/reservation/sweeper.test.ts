/** The sweeper asks the store when a lapse is due, and not before. */

import { LOOK_MS, Sweeper } from '../../../src/state/reservation/sweeper';
import type { Swept } from '../../../src/state/reservation/reservations';

const NOTHING: Swept = { held: 0, firstAfterMs: undefined };

function open({
  tags = [],
  answer = (): Swept | Error => NOTHING,
}: { readonly tags?: readonly string[]; readonly answer?: (tag: string) => Swept | Error } = {}) {
  const clock = { nowMs: 0 };
  const swept: string[] = [];
  const held: number[] = [];
  const sweeper = new Sweeper({
    reservations: {
      sweep: (tag) => {
        swept.push(tag);
        const given = answer(tag);
        return given instanceof Error ? Promise.reject(given) : Promise.resolve(given);
      },
    },
    tags: () => tags,
    nowMs: () => clock.nowMs,
    onHeld: (count) => held.push(count),
  });
  const at = async (nowMs: number): Promise<readonly string[]> => {
    clock.nowMs = nowMs;
    swept.length = 0;
    await sweeper.sweepDue();
    return [...swept];
  };
  return { sweeper, at, held };
}

test('a tag is swept when its first lapse is due, and not before', async () => {
  const { sweeper, at } = open();
  for (let i = 0; i < 10_000; i += 1) sweeper.touch(`t${i}`, { lapsesAfterMs: 60_000 });
  sweeper.touch('t7', { lapsesAfterMs: 30_000 });
  sweeper.touch('t7', { lapsesAfterMs: 90_000 });
  for (const nowMs of [0, 1_000, 29_999]) expect(await at(nowMs)).toEqual([]);
  expect(await at(30_000)).toEqual(['t7']);
  expect(await at(59_999)).toEqual([]);
  expect(await at(60_000)).toHaveLength(9_999);
  expect(await at(1_000_000)).toEqual([]);
});

test('a sweep says when to come again', async () => {
  const answers = new Map<string, Swept>([['a', { held: 3, firstAfterMs: 5_000 }]]);
  const { sweeper, at, held } = open({ answer: (tag) => answers.get(tag) ?? NOTHING });
  sweeper.touch('a', { lapsesAfterMs: 10 });
  expect(await at(10)).toEqual(['a']);
  expect(held).toEqual([3]);
  answers.clear();
  expect(await at(5_009)).toEqual([]);
  expect(await at(5_010)).toEqual(['a']);
  expect(held).toEqual([3, 0]);
});

test('while more is due a tag is swept again at once, in turn with the others', async () => {
  let left = 5;
  const { sweeper, at } = open({ answer: (tag) => (tag === 'large' && (left -= 1) > 0 ? { held: left, firstAfterMs: 0 } : NOTHING) });
  for (const tag of ['large', 'one', 'two', 'three', 'four', 'five']) sweeper.touch(tag, { lapsesAfterMs: 0 });
  const order = await at(0);
  expect(order.filter((tag) => tag === 'large')).toHaveLength(5);
  expect(order.lastIndexOf('five')).toBeLessThan(order.lastIndexOf('large'));
});

test('configured tags are looked at seldom, for reservations of other instances', async () => {
  const { at } = open({ tags: ['d', 'e'] });
  expect(await at(0)).toEqual(['d', 'e']);
  expect(await at(LOOK_MS - 1)).toEqual([]);
  expect(await at(LOOK_MS)).toEqual(['d', 'e']);
});

test('a failed sweep is tried again after a pause', async () => {
  let answer: Swept | Error = new Error('Redis is down');
  const { sweeper, at } = open({ answer: () => answer });
  sweeper.touch('a', { lapsesAfterMs: 0 });
  expect(await at(0)).toEqual(['a']);
  expect(await at(999)).toEqual([]);
  expect(await at(1_000)).toEqual(['a']);
  answer = NOTHING;
  expect(await at(2_000)).toEqual(['a']);
  expect(await at(9_000)).toEqual([]);
});

test('a reservation made during a sweep is not forgotten', async () => {
  const { sweeper, at } = open({
    answer: () => {
      sweeper.touch('a', { lapsesAfterMs: 100 });
      return NOTHING;
    },
  });
  sweeper.touch('a', { lapsesAfterMs: 0 });
  expect(await at(0)).toEqual(['a']);
  expect(await at(99)).toEqual([]);
  expect(await at(100)).toEqual(['a']);
});
