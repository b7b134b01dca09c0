/** The slot of a bucket and the node of a slot are those of Redis Cluster. */

import { bucketKey } from '../../../src/domain/bucket/bucket-key';
import { NODES_MAX, parseClusterSlots, slotOf, SLOTS } from '../../../src/state/store/redis/cluster-slots';
import { entriesOf, limitOf } from '../../support/decisions/rules';

test.each([
  // The check value of CRC16/XMODEM is 0x31c3.
  ['123456789', 0x31c3],
  ['foo', 12_182],
  ['bar', 5_061],
  ['user1000', 3_443],
  ['{user1000}.following', 3_443],
  ['{user1000}.followers', 3_443],
  ['foo{}{bar}', 8_363],
  ['foo{{bar}}zap', 4_015],
  ['foo{bar}{zap}', 5_061],
  ['', 0],
])('%j has slot %i', (key, slot) => {
  expect(slotOf(key)).toBe(slot);
});

test('the slot of a bucket follows from its domain, or from the entry that spreads the domain', () => {
  const keyOf = (entry: string, hashTag?: string) =>
    bucketKey({ prefix: 'p-', domain: 'd', hashTag, entries: entriesOf(entry), limit: limitOf() });
  expect(slotOf(keyOf('tenant=a'))).toBe(slotOf('d'));
  expect(slotOf(keyOf('tenant=a', 'tenant'))).toBe(slotOf('d|a'));
  expect(new Set(Array.from({ length: 100 }, (_, i) => slotOf(keyOf(`tenant=${i}`, 'tenant')))).size).toBeGreaterThan(95);
});

describe('CLUSTER SLOTS', () => {
  const replica = ['10.0.0.9', 7009, 'id'];

  test.each([
    ['10.0.0.1', '10.0.0.1'],
    [null, 'asked'],
    ['', 'asked'],
  ])('a node at %j is at %j', (host, expected) => {
    expect(parseClusterSlots([[0, 100, [host, 7000, 'id', []], replica]], 'asked')).toEqual([
      { first: 0, last: 100, primary: { host: expected, port: 7000 } },
    ]);
  });

  test('a node without its announced hostname is at its address', () => {
    const [range] = parseClusterSlots([[0, 1, ['?', 7000, 'id', ['ip', '10.0.0.1']]]], 'asked')!;
    expect(range?.primary.host).toBe('10.0.0.1');
    expect(parseClusterSlots([[0, 1, ['?', 7000, 'id', []]]], 'asked')![0]?.primary.host).toBe('asked');
  });

  test.each([
    ['no slots', []],
    ['no array', 'OK'],
    ['an invalid slot', [[0, SLOTS, ['h', 1, 'id']]]],
    ['an invalid port', [[0, 1, ['h', '1', 'id']]]],
    ['no node', [[0, 1]]],
    [
      'one bad range of two',
      [
        [0, 1, ['h', 1, 'id']],
        [2, 'x', ['h', 1, 'id']],
      ],
    ],
    ['too many nodes', Array.from({ length: NODES_MAX + 1 }, (_, i) => [i, i, ['h', i, 'id']])],
  ])('%s is not an answer', (_what, reply) => {
    expect(parseClusterSlots(reply, 'asked')).toBeUndefined();
  });
});
