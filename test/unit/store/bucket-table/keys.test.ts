/** No key is mistaken for another, and collisions need the secret seed. */

import { BucketTable } from '../../../../src/state/store/memory/bucket-table/bucket-table';
import { halfSipHash, randomSeed, type WordsHash } from '../../../../src/state/store/memory/bucket-table/half-sip-hash';
import { KeyPrefixes, NO_PREFIX, PREFIXES_MAX } from '../../../../src/state/store/memory/bucket-table/key-prefixes';
import { KEY_BYTES_MAX, KeyWords } from '../../../../src/state/store/memory/bucket-table/key-words';

const sameForAll: WordsHash = () => 7;

/** Pairs that have words, lengths, prefixes or digests in common. */
const ALIKE = [
  ...['', '\0', '\0\0', '\0\0\0\0', '\0\0\0\0\0'],
  ...['a', 'b', 'a\0', 'aa', 'aaaa', 'aaaaa', 'aaaa\0'],
  ...['=', '==', 'abc=', 'abc=d', 'abcd=', 'abc=d=', 'abcd', 'abc=\0', 'xbc=d'],
  ...['1{d}tb60|a=1', '1{d}tb60|a=2', '1{d}tb61|a=1', '1{d}tb60|a=1|b=1', '1{d}tb60|a='],
  ...['\xff', 'ÿ'.repeat(4), 'Ā', 'a\u0100', '\u0161', '\ud800', '\udc00', '💥'],
  ...['\u0100\0', '\0\u0001', '\u0100\0\0\0', '\0\u0001\0\0'],
  ...[KEY_BYTES_MAX - 1, KEY_BYTES_MAX, KEY_BYTES_MAX + 1, KEY_BYTES_MAX + 2, 5_000].map((length) => 'z'.repeat(length)),
  ...[KEY_BYTES_MAX, KEY_BYTES_MAX + 1].map((length) => `${'z'.repeat(length - 1)}=`),
];

test.each([
  ['the hash it has', undefined],
  ['one hash for all', sameForAll],
])('%s: similar keys stay apart', (_name, hash) => {
  const table = new BucketTable({ sinceUs: 0, ...(hash && { hash }) });
  const keys = [...new Set([...ALIKE, ...ALIKE.filter((key) => key.length > KEY_BYTES_MAX).map(digestAsText)])];
  for (const [i, key] of keys.entries()) table.set(key, { used: i + 1, rest: 0, atUs: 0 }, 0);
  expect(table.size).toBe(keys.length);
  for (const [i, key] of keys.entries()) expect([key, table.use(key)]).toEqual([key, { used: i + 1, rest: 0, atUs: 0 }]);
  for (const key of keys.filter((_, i) => i % 2 === 0)) table.delete(key);
  for (const [i, key] of keys.entries()) expect(table.use(key) === undefined).toBe(i % 2 === 0);
});

/** The key whose bytes are the digest of another: the other must not be taken for it. */
function digestAsText(key: string): string {
  const read = new KeyWords();
  read.read(key);
  return Buffer.from(read.words.buffer, 0, read.bytes).toString('latin1');
}

test('beyond the maximum number of prefixes keys are stored whole, and earlier ones are found', () => {
  const table = new BucketTable({ sinceUs: 0 });
  const keys = Array.from({ length: PREFIXES_MAX + 100 }, (_, i) => `1{domain-${i}}tb60|key=value`);
  for (const round of [1, 2]) {
    for (const [i, key] of keys.entries()) table.set(key, { used: round, rest: i, atUs: 0 }, 0);
    expect(table.size).toBe(keys.length);
    for (const [i, key] of keys.entries()) expect(table.use(key)).toEqual({ used: round, rest: i, atUs: 0 });
  }
});

test('a prefix keeps one number beside others with its hash', () => {
  const prefixes = new KeyPrefixes(sameForAll);
  const [one, other] = [Int32Array.of(1, 2, 3), Int32Array.of(1, 2, 4)];
  const numbers = (...asked: readonly (readonly [Int32Array, number])[]) =>
    [NO_PREFIX, 1, 2, 3].map((likely) => asked.map(([words, count]) => prefixes.numberOf(words, count, likely)));
  const known = [0, 1, 2, 3];
  expect([prefixes.numberOf(one, 0, NO_PREFIX), prefixes.numberOf(one, 3, NO_PREFIX), prefixes.numberOf(other, 3, 1)]).toEqual([0, 1, 2]);
  expect(prefixes.numberOf(one, 2, 1)).toBe(3);
  expect(numbers([one, 0], [one, 3], [other, 3], [other, 2])).toEqual([known, known, known, known]);
  expect([...prefixes.wordsOf(2)]).toEqual([1, 2, 4]);
});

describe('the hash', () => {
  const words = (text: string) => {
    const read = new KeyWords();
    read.read(text);
    return [read.words, read.bytes] as const;
  };

  test('it covers all bytes, their number, and a seed that differs in each process', () => {
    const hash = halfSipHash({ first: 1, second: 2 });
    const texts = ['', 'a', 'b', 'aaaa', 'aaab', 'baaa', 'aaaaa', 'aaaa\0', 'aaaaaaaa'];
    expect(new Set(texts.map((text) => hash(...words(text)))).size).toBe(texts.length);
    expect(halfSipHash({ first: 1, second: 3 })(...words('a'))).not.toBe(hash(...words('a')));
    expect(randomSeed()).not.toEqual(randomSeed());
  });

  test.each([0xff, 0xff << 8, 0xff << 24])('it spreads similar keys over the bits %i', (mask) => {
    const hash = halfSipHash(randomSeed());
    const counts = new Map<number, number>();
    for (let i = 0; i < 256 * 100; i += 1) {
      const part = hash(...words(`1{d}tb60|client=10.0.${i >>> 8}.${i & 0xff}`)) & mask;
      counts.set(part, (counts.get(part) ?? 0) + 1);
    }
    expect(counts.size).toBe(256);
    // 100 are expected, with a deviation of 10: beyond 7 of them, chance is one in a hundred thousand million.
    expect(Math.max(...counts.values())).toBeLessThan(170);
    expect(Math.min(...counts.values())).toBeGreaterThan(30);
  });
});
