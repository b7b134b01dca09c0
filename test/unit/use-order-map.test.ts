/** The map that knows which of its entries was not used longest, beside a Map that is deleted from and set again. */

import { UseOrderMap } from '../../src/store/use-order-map';
import { randomFrom } from '../support/random';

const KEYS = 12;
const STEPS = 2_000;

function contentsOf(map: UseOrderMap<number>): unknown {
  return { size: map.size, oldest: map.oldest, values: [...map.values()] };
}

test('a use of what is known deletes nothing from the Map beneath', () => {
  const map = new UseOrderMap<number>();
  for (let key = 0; key < KEYS; key += 1) map.set(String(key), key);
  const deleted = jest.spyOn(Map.prototype, 'delete');
  for (let use = 0; use < STEPS; use += 1) map.set(String(use % 2), use);
  const times = deleted.mock.calls.length;
  deleted.mockRestore();
  expect(times).toBe(0);
  expect([...map.values()].slice(-2)).toEqual([STEPS - 2, STEPS - 1]);
});

test('whatever is done: what it holds, and the order of use', () => {
  const random = randomFrom();
  const map = new UseOrderMap<number>();
  const model = new Map<string, number>();
  for (let step = 0; step < STEPS; step += 1) {
    const key = String(random(KEYS));
    const dice = random(20);
    if (dice === 0) {
      map.clear();
      model.clear();
    } else if (dice < 4) {
      map.delete(key);
      model.delete(key);
    } else if (dice < 7) {
      map.deleteOldest();
      model.delete([...model.keys()][0] ?? '');
    } else {
      map.set(key, step);
      model.delete(key);
      model.set(key, step);
    }
    expect([map.get(key), map.has(key)]).toEqual([model.get(key), model.has(key)]);
    expect(contentsOf(map)).toEqual({ size: model.size, oldest: [...model.values()][0], values: [...model.values()] });
  }
});
