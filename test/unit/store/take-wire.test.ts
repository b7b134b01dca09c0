/** A reply that is not the script's is rejected. */

import { StoreError } from '../../../src/state/store/port/store-error';
import { decodeReply, encodeTakes } from '../../../src/state/store/redis/take-wire';
import { groupOf, take, THREE_PER_MINUTE } from '../../support/decisions/groups';

const NOW_US = 1_800_000_000_000_000;
const one = groupOf([take('a')]);
const two = groupOf([take('b'), take('c', { mode: 'shadow' })]);

function decode(groups: Parameters<typeof encodeTakes>[0], reply: unknown) {
  return decodeReply(reply, { groups, folds: encodeTakes(groups).folds });
}

test('a group whose takes all fit says only what is left and for how long', () => {
  expect(decode([two, one], [NOW_US, 9, 100_000, 0, 200_000, 8, 300_000])).toEqual([
    {
      overLimit: false,
      verdicts: [
        { fits: true, remaining: 9, retryAfterUs: 0, resetAfterUs: 100_000 },
        { fits: true, remaining: 0, retryAfterUs: 0, resetAfterUs: 200_000 },
      ],
      nowUs: NOW_US,
    },
    { overLimit: false, verdicts: [{ fits: true, remaining: 8, retryAfterUs: 0, resetAfterUs: 300_000 }], nowUs: NOW_US },
  ]);
});

test.each([
  ['denied', -4, true],
  ['of an allowed group', -5, false],
])('a group with a take that does not fit, %s, has the verdict of each take', (_what, code, overLimit) => {
  const verdicts = [
    { fits: true, remaining: 9, retryAfterUs: 0, resetAfterUs: 100_000 },
    { fits: false, remaining: 0, retryAfterUs: -1, resetAfterUs: 200_000 },
  ];
  expect(decode([two], [NOW_US, code, 9, 100_000, -2, 0, 200_000, -1])).toEqual([{ overLimit, verdicts, nowUs: NOW_US }]);
});

test('a group without takes is allowed', () => {
  expect(decode([groupOf([])], [NOW_US, -5])).toEqual([{ overLimit: false, verdicts: [], nowUs: NOW_US }]);
});

test('an undecided group has the reason', () => {
  const outcomes = decode([one, two, { ...one }], [NOW_US, -1, -2, -3]);
  expect(outcomes[1]).toEqual({ outsideAtUs: NOW_US });
  expect([outcomes[0], outcomes[2]].map((outcome) => outcome instanceof StoreError && [outcome.reason, outcome.mayHaveRun])).toEqual([
    ['script', false],
    ['script', false],
  ]);
});

test.each<readonly [string, unknown]>([
  ['nothing', null],
  ['a text', 'OK'],
  ['no number at all', []],
  ['the time alone', [NOW_US]],
  ['half of a take', [NOW_US, 9]],
  ['a take and a half', [NOW_US, 9, 100_000, 1]],
  ['two takes for one', [NOW_US, 9, 100_000, 9, 100_000]],
  ['an unknown code', [NOW_US, -6]],
  ['a code, and the answer none the less', [NOW_US, -1, 9, 100_000]],
  ['a denial without its reason', [NOW_US, -4, 9, 100_000]],
  ['a text among the numbers', [NOW_US, 9, '100000']],
  ['an older script: how often allowed, fits, remaining, retry after, reset after', [NOW_US, 1, 1, 9, 0, 100_000]],
])('%s is not an answer', (_what, reply) => {
  expect(() => decode([one], reply)).toThrow(StoreError);
});

test('a fold with trailing data is not an answer either', () => {
  expect(decode([one, one], [NOW_US, 2, 0, 0])).toHaveLength(2);
  expect(() => decode([one, one], [NOW_US, 2, 0, 0, 0])).toThrow(StoreError);
});

test('groups of one shape send it once, each with its own slots after them', () => {
  const limit = { algorithm: 'in_flight', windowUs: 60_000_000, requestsPerUnit: 20, capacity: 20 } as const;
  const begin = (n: number) => groupOf([take(`a${n}`, { limit, slotId: `${n}`.repeat(16) }), take('b', { limit })]);
  const { keys, args } = encodeTakes([begin(1), begin(2), groupOf([take('c', { limit })]), begin(3)]);
  expect(keys).toEqual(['a1', 'b', 'a2', 'b', 'c', 'a3', 'b']);
  const ofLimit = '60000000 20 20 0';
  expect(args.join(' ')).toBe(
    `0 2 0 2 6 12 0 1 ${ofLimit} 6 0 1 1 ${ofLimit} 0 1 6 0 0 1 ${ofLimit} 1 2 1 ${'1'.repeat(16)} ${'2'.repeat(16)} 2 1 1 1 1 1 ${'3'.repeat(16)}`,
  );
});

test('plain groups send runs: their number, the number of arguments of their takes, and the takes', () => {
  const window = { algorithm: 'fixed_window', windowUs: 60_000_000, requestsPerUnit: 3, capacity: 3 } as const;
  const group = groupOf([take('a', { hits: 2 }), take('b', { hits: 2, limit: window })]);
  const args = '2 1000000 10 10 -2 60000000 3';
  expect(encodeTakes([group]).args.join(' ')).toBe(`1 7 ${args}`);
  expect(encodeTakes([group, groupOf([take('c')]), groupOf([take('d'), take('e')])]).args.join(' ')).toBe(
    `1 7 ${args} 1 4 1 1000000 10 10 1 8 1 1000000 10 10 1 1000000 10 10`,
  );
  expect(encodeTakes([group, group]).args.join(' ')).toBe(`-2 7 ${args}`);
});

test.each([2, 40])('%i takes on different buckets are plain, and with a bucket twice they are not', (count) => {
  const takes = Array.from({ length: count }, (_, i) => take(`key-${i}`));
  const isPlain = (keys: readonly string[]) =>
    encodeTakes([groupOf(takes.map((each, i) => ({ ...each, bucketKey: keys[i]! })))]).args[0] !== '0';
  const keys = takes.map(({ bucketKey }) => bucketKey);
  expect([isPlain(keys), isPlain([...keys.slice(0, -1), 'key-0'])]).toEqual([true, false]);
});

test('the limit of a class of a reserve, whose capacity is smaller than its requests, is decided on the straight path', () => {
  const limit = { ...THREE_PER_MINUTE, capacity: 2, reserved: 1 };
  expect(encodeTakes([groupOf([take('a', { limit })])]).args).toEqual(['1', '3', '-1', '60000000', '2']);
});
