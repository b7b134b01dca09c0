/** The warm-up runs the Redis path, which decides as its store does. */

import { ALGORITHMS } from '../../../src/domain/algorithm/algorithms';
import type { Group } from '../../../src/domain/bucket/take';
import { MemoryStore } from '../../../src/state/store/memory/memory-store';
import { overRedisPath } from '../../../src/server/warm-up/redis-path';
import { groupOf, LIMITS, take } from '../../support/decisions/groups';
import { decided } from '../../support/decisions/outcomes';

const NOW_US = 1_800_000_000_000_000;

const makeStore = () => new MemoryStore({ nowUs: () => NOW_US, bucketsMax: 100 });

test.each(ALGORITHMS)('calls that arrive together, alone and repeatedly are decided as by the store itself (%s)', async (algorithm) => {
  const path = overRedisPath(makeStore());
  const plain = makeStore();
  const limit = LIMITS[algorithm];
  const alone = (key: string, hits: number): Group => groupOf([take(key, { limit, hits }), take('everybody', { limit, hits: 0 })]);
  const again = alone('a', 1);
  for (const groups of [
    [alone('a', 1), alone('b', 2)],
    [again],
    [again, alone('b', 1), again, again],
    [alone('c', limit.capacity), alone('c', 1)],
  ]) {
    expect(await path.take(groups)).toEqual(await plain.take(groups));
  }
  // Of what has been denied the deny cache knows.
  expect(decided((await path.take([alone('c', 1)]))[0])).toMatchObject({ overLimit: true, cached: true });
  await path.close();
});
