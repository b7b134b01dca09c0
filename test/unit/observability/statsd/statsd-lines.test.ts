/** Lines of statsd are well formed and fit their packets. */

import { toLine, toPackets } from '../../../../src/server/observability/statsd/statsd-lines';

test.each([
  [{ kind: 'counter', name: 'a.b', value: 3, tags: [] }, 'a.b:3|c'],
  [{ kind: 'gauge', name: 'a', value: -1.5, tags: [] }, 'a:-1.5|g'],
  [{ kind: 'time', name: 'a', value: 0.25, tags: ['region:eu', 'domain:a:b'] }, 'a:0.25|ms|#region:eu,domain:a:b'],
  [{ kind: 'counter', name: 'a:b|c\nd', value: 1, tags: ['k:a|b,c#d@e\nf'] }, 'a_b_c_d:1|c|#k:a_b_c_d_e_f'],
] as const)('a line of %j is %s', (line, text) => {
  expect(toLine(line)).toBe(text);
});

test('a packet holds as many lines as fit, counted in bytes, and a longer line goes alone', () => {
  expect(toPackets([], 10)).toEqual([]);
  expect(toPackets(['aaaa', 'bbbbb'], 10)).toEqual(['aaaa\nbbbbb']);
  expect(toPackets(['aaaa', 'bbbbbb'], 10)).toEqual(['aaaa', 'bbbbbb']);
  expect(toPackets(['ää', 'bbbbbb'], 10)).toEqual(['ää', 'bbbbbb']);
  expect(toPackets(['a', 'b'.repeat(11), 'c', 'd'], 10)).toEqual(['a', 'b'.repeat(11), 'c\nd']);
});
