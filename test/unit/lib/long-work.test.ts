/** Long work rests between its steps, sorts as `sort` does, and is done once for all callers of one time. */

import { atOnce } from '../../../src/lib/slices';
import { OneAtATime } from '../../../src/lib/one-at-a-time';
import { sortInSteps } from '../../../src/lib/sort-in-steps';
import { randomFrom } from '../../support/random/random';

test.each([0, 1, 2, 255, 256, 257, 512, 1_000, 10_000])('%d items are sorted as by sort, stable', (length) => {
  const random = randomFrom();
  const items = Array.from({ length }, (_, i) => ({ key: random(100), i }));
  const expected = [...items].sort((one, other) => one.key - other.key);
  expect(atOnce(sortInSteps(items, (one, other) => one.key < other.key))).toEqual(expected);
});

test('one run happens at a time, and calls during a run share the next one', async () => {
  let [asked, running, runs] = [0, 0, 0];
  const shared = new OneAtATime(async () => {
    runs += 1;
    running += 1;
    expect(running).toBe(1);
    const seen = asked;
    await new Promise((resolve) => {
      setTimeout(resolve, 2);
    });
    running -= 1;
    if (runs === 2) throw new Error('failed');
    return seen;
  });
  const ask = async (): Promise<void> => {
    asked += 1;
    const mine = asked;
    const seen = await shared.run().catch((error: unknown) => String(error));
    if (typeof seen === 'number') expect(seen).toBeGreaterThanOrEqual(mine);
  };
  await Promise.all(Array.from({ length: 20 }, ask));
  expect(runs).toBe(2);
  await ask();
  await Promise.all([ask(), ask().then(ask), ask()]);
  expect(runs).toBeLessThanOrEqual(6);
});
