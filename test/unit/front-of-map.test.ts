/** The walk along the front of a map. */

import { FrontOfMap } from '../../src/store/front-of-map';

test('walks past the first entries, from the first again when it is through, and nowhere in an empty map', () => {
  const map = new Map([['a', 1], ['b', 2]]);
  const front = new FrontOfMap(map);
  expect([front.next(), front.next(), front.next()]).toEqual(['a', 'b', 'a']);
  map.clear();
  expect(front.next()).toBeUndefined();
});

test('lets go of its iterator when it is not needed for long, as that would keep every table that the map has had', () => {
  const map = new Map([['a', 1], ['b', 2]]);
  const front = new FrontOfMap(map);
  front.next();
  for (let use = 0; use < 1_000; use += 1) front.used();
  expect(front.next()).toBe('b');
  for (let use = 0; use < 1_001; use += 1) front.used();
  expect(front.next()).toBe('a');
});
