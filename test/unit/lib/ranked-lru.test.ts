/** The map that knows which of its entries of each rank was not used longest, beside Maps that are deleted from and set again. */

import { RankedLruMap } from '../../../src/lib/ranked-lru';
import { randomFrom } from '../../support/random/random';

const KEYS = 12;
const STEPS = 2_000;

function contentsOf(map: RankedLruMap<number>): unknown {
  return { size: map.size, sizes: map.sizes, oldest: [...map.sizes.keys()].map((rank) => map.oldestOf(rank)), values: [...map.values()] };
}

test('a use of a known key deletes nothing from the underlying Map', () => {
  const map = new RankedLruMap<number>();
  for (let key = 0; key < KEYS; key += 1) map.set(String(key), key);
  const deleted = jest.spyOn(Map.prototype, 'delete');
  for (let use = 0; use < STEPS; use += 1) map.set(String(use % 2), use);
  const times = deleted.mock.calls.length;
  deleted.mockRestore();
  expect(times).toBe(0);
  expect([...map.values()].slice(-2)).toEqual([STEPS - 2, STEPS - 1]);
});

test.each([1, 3])('it equals a model for random steps: its entries, and the order of use in each of %i ranks', (ranks) => {
  const random = randomFrom();
  const map = new RankedLruMap<number>({ ranks });
  const models = Array.from({ length: ranks }, () => new Map<string, number>());
  for (let step = 0; step < STEPS; step += 1) {
    const key = String(random(KEYS));
    const dice = random(20);
    const known = models.findIndex((model) => model.has(key));
    if (dice === 0) {
      map.clear();
      for (const model of models) model.clear();
    } else if (dice < 4) {
      map.delete(key);
      models[known]?.delete(key);
    } else if (dice < 7) {
      map.deleteOldest();
      models[0]!.delete([...models[0]!.keys()][0] ?? '');
    } else {
      const rank = dice < 12 ? undefined : random(ranks);
      map.set(key, step, rank);
      models[known]?.delete(key);
      models[rank ?? Math.max(0, known)]!.set(key, step);
    }
    const values = models.map((model) => [...model.values()]);
    const found = models.find((model) => model.has(key))?.get(key);
    expect([map.get(key), map.has(key)]).toEqual([found, found !== undefined]);
    expect(contentsOf(map)).toEqual({
      size: values.flat().length,
      sizes: values.map(({ length }) => length),
      oldest: values.map(([oldest]) => oldest),
      values: values.flat(),
    });
  }
});
