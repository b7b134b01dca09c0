/** A group that names a bucket twice is found, with few and many takes. */

import { namesBucketTwice } from '../../../src/domain/bucket/take';
import { groupOf, take } from '../../support/decisions/groups';

const COUNTS = [0, 1, 2, 3, 6, 7, 10, 20, 64, 65, 100];

/** Of the same length, and of different ones: each key begins like the one before. */
const KEYS: readonly (readonly [string, (i: number) => string])[] = [
  ['of one length', (i) => `1{bench}tb60|dimension_${String(i).padStart(3, '0')}=id-0000001`],
  ['of growing length', (i) => 'a'.repeat(i)],
  ['with one tail', (i) => `${i}|user=id-0000001`],
];

describe.each(KEYS)('keys %s', (_what, keyAt) => {
  test.each(COUNTS)('%i takes on buckets of their own', (count) => {
    expect(namesBucketTwice(groupOf(Array.from({ length: count }, (_, i) => take(keyAt(i)))))).toBe(false);
  });

  test.each(COUNTS.filter((count) => count > 1))('%i takes, two of them on one bucket, wherever they stand', (count) => {
    for (let later = 1; later < count; later += 1) {
      for (const earlier of new Set([0, Math.floor(later / 2), later - 1])) {
        const keys = Array.from({ length: count }, (_, i) => keyAt(i === later ? earlier : i));
        expect(namesBucketTwice(groupOf(keys.map((key) => take(key))))).toBe(true);
      }
    }
  });
});
