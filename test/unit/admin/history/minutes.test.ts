/** Values by minute are kept for an hour, in order and in a bounded number. */

import { Minutes, MINUTES_MAX } from '../../../../src/administration/admin/history/minutes';

const MINUTE_MS = 60_000;

function row(id: string, ...values: number[]) {
  return { id, named: id.toUpperCase(), values };
}

test('an hour is kept, the oldest minute first, and what had nothing in it goes', () => {
  const minutes = new Minutes<string>({ rowsMax: 10, columns: 1 });
  minutes.add({ atMs: 0, rows: [row('old', 7)] });
  for (let minute = 1; minute <= MINUTES_MAX; minute += 1) minutes.add({ atMs: minute * MINUTE_MS, rows: [row('busy', minute)] });
  const { atMs, rows } = minutes.view();
  expect(atMs).toEqual(Array.from({ length: MINUTES_MAX }, (_, index) => (index + 1) * MINUTE_MS));
  expect(rows).toEqual([{ named: 'BUSY', columns: [Array.from({ length: MINUTES_MAX }, (_, index) => index + 1)] }]);
});

test('a thing that is absent from a minute has 0 there, and the current minute is one more point', () => {
  const minutes = new Minutes<string>({ rowsMax: 10, columns: 2 });
  minutes.add({ atMs: 1, rows: [row('a', 1, 10), row('b', 2, 20)] });
  minutes.add({ atMs: 2, rows: [row('b', 3, 30)] });
  expect(minutes.view({ atMs: 3, rows: [row('a', 9, 90), row('new', 4, 5)] })).toEqual({
    atMs: [1, 2, 3],
    rows: [
      {
        named: 'A',
        columns: [
          [1, 0, 9],
          [10, 0, 90],
        ],
      },
      {
        named: 'B',
        columns: [
          [2, 3, 0],
          [20, 30, 0],
        ],
      },
      {
        named: 'NEW',
        columns: [
          [0, 0, 4],
          [0, 0, 5],
        ],
      },
    ],
  });
  expect(minutes.view().atMs).toEqual([1, 2]);
});

test('of too many things those with the smallest sums go', () => {
  const minutes = new Minutes<string>({ rowsMax: 3, columns: 1 });
  for (let minute = 0; minute < 5; minute += 1)
    minutes.add({
      atMs: minute,
      rows: [row('a', 100), row('b', 50), row('c', 25), ...Array.from({ length: 1_000 }, (_, i) => row(`x${minute}.${i}`, 1))],
    });
  expect(minutes.view().rows.map(({ named }) => named)).toEqual(['A', 'B', 'C']);
});
