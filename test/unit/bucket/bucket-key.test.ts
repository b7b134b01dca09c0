/** Two buckets never share a key, and keys are printable. */

import fc from 'fast-check';
import { bucketKey, KeyHeads, sharedEntry } from '../../../src/domain/bucket/bucket-key';
import type { Entry } from '../../../src/domain/descriptor/descriptor';
import { toByteString } from '../../../src/domain/descriptor/byte-string';
import { entriesOf, limitOf } from '../../support/decisions/rules';
import { seeded } from '../../support/random/random';
import { anyText } from '../../support/random/any-text';

const limit = limitOf({ unit: 'minute' });

function keyOf(domain: string, entries: readonly Entry[], { prefix = '', hashTag }: { prefix?: string; hashTag?: string } = {}): string {
  return bucketKey({ prefix, domain, hashTag, entries, limit });
}

test.each([
  ['payments', entriesOf('merchant=acme'), '1{payments}tb60|merchant=acme'],
  ['payments', entriesOf('plan=free', 'merchant=acme'), '1{payments}tb60|plan=free|merchant=acme'],
  ['d', [], '1{d}tb60'],
  ['d', entriesOf('k'), '1{d}tb60|k='],
  ['d', [{ key: 'path', value: '/a?b=c|d' }], '1{d}tb60|path=/a?b%3dc%7cd'],
  ['d', [{ key: 'ip', value: '2001:db8::1' }], '1{d}tb60|ip=2001:db8::1'],
  ['d', [{ key: 'k', value: '\x00\xff é'.slice(0, 3) }], '1{d}tb60|k=%00%ff%20'],
  ['d', [{ key: 'k', value: toByteString('é') }], '1{d}tb60|k=%c3%a9'],
  ['weir:', [{ key: 'weir:x', value: 'weir' }], '1{weir%3a}tb60|weir%3ax=weir'],
  ['{d}', entriesOf('k=100%'), '1{%7bd%7d}tb60|k=100%25'],
])('the key of domain %j, entries %j is %s', (domain, entries, expected) => {
  expect(keyOf(domain, entries)).toBe(expected);
});

test('the key has the algorithm and the window, and not the size of the limit', () => {
  const key = (spec: Parameters<typeof limitOf>[0]) =>
    bucketKey({ prefix: '', domain: 'd', entries: entriesOf('k=v'), limit: limitOf(spec) });
  expect(key({ unit: 'hour' })).toBe('1{d}tb3600|k=v');
  expect(key({ unit: 'hour', algorithm: 'fixed_window' })).toBe('1{d}fw3600|k=v');
  expect(key({ unit: 'minute', unitMultiplier: 5 })).toBe('1{d}tb300|k=v');
  expect(key({ unit: 'hour', requestsPerUnit: 7, burst: 9, name: 'n' })).toBe(key({ unit: 'hour' }));
});

test('the key of a calendar window has its unit and time zone', () => {
  const calendar = limitOf({ unit: 'month', algorithm: 'fixed_window', calendarTimeZone: 'Europe/Berlin' });
  expect(bucketKey({ prefix: '', domain: 'd', entries: entriesOf('k=v'), limit: calendar })).toBe('1{d}fw1month@Europe/Berlin|k=v');
});

test('the key begins with the prefix of the settings', () => {
  expect(keyOf('d', entriesOf('k=v'), { prefix: 'eu-' })).toBe('eu-1{d}tb60|k=v');
});

test.each([
  [entriesOf('tenant=acme', 'path=/'), '1{d|acme}tb60|tenant=acme|path=/'],
  [entriesOf('path=/', 'tenant=acme'), '1{d|acme}tb60|path=/|tenant=acme'],
  [entriesOf('path=/'), '1{d}tb60|path=/'],
  [entriesOf('tenant'), '1{d|}tb60|tenant='],
  [[{ key: 'tenant', value: '{a}|b' }], '1{d|%7ba%7d%7cb}tb60|tenant=%7ba%7d%7cb'],
  [entriesOf('tenant=a', 'tenant=b'), '1{d|a}tb60|tenant=a|tenant=b'],
])('the hash tag of a domain spread by tenant, entries %j, is %s', (entries, expected) => {
  expect(keyOf('d', entries, { hashTag: 'tenant' })).toBe(expected);
});

test('cached key heads change no key, whatever was keyed before', () => {
  const heads = new KeyHeads();
  const limits = [limit, limitOf({ unit: 'hour' }), limitOf({ unit: 'day', algorithm: 'fixed_window' })];
  const entry = fc.record({ key: fc.constantFrom('a', 'ab', 'weir:', 't|'), value: fc.constantFrom('', 'x', 'y=|', 'é') });
  const asked = fc.record({
    domain: fc.constantFrom('d', 'e', '{d}'),
    entries: fc.array(entry, { maxLength: 3 }),
    limit: fc.constantFrom(...limits),
    hashTag: fc.constantFrom(undefined, 'a'),
  });
  fc.assert(
    fc.property(asked, (one) => {
      expect(bucketKey({ prefix: 'p-', heads, ...one })).toBe(bucketKey({ prefix: 'p-', ...one }));
    }),
    seeded(500),
  );
});

describe('share_threshold', () => {
  const shared = sharedEntry({ key: 'path', value: '/a*' });
  const sharedKeyOf = (first: string, second: string, hashTag?: string) =>
    bucketKey({ prefix: 'p-', domain: 'd', hashTag, entries: entriesOf(first, second), limit, shared: [undefined, shared] });

  test('share_threshold writes the pattern instead of the value, and changes nothing else', () => {
    expect(sharedKeyOf('k=v', 'path=/ab')).toBe('p-1{d}tb60|k=v|path=~/a*');
    expect(sharedKeyOf('k=v', 'path=/ac')).toBe(sharedKeyOf('k=v', 'path=/ab'));
    expect(sharedKeyOf('k=w', 'path=/ab')).not.toBe(sharedKeyOf('k=v', 'path=/ab'));
  });

  test('no value is written like a pattern, not even the text of the pattern', () => {
    for (const value of ['/a*', '~/a*']) expect(keyOf('d', [...entriesOf('k=v'), { key: 'path', value }])).not.toContain('=~');
  });

  test('a key with a star is written with the star, and a value without one as it is', () => {
    const keys = bucketKey({
      prefix: '',
      domain: 'd',
      entries: entriesOf('path=x'),
      limit,
      shared: [sharedEntry({ key: 'p*', value: 'x' })],
    });
    expect(keys).toBe('1{d}tb60|~p*=x');
  });

  test('a long pattern is written as its digest', () => {
    const long = sharedEntry({ key: 'k', value: `${'x'.repeat(257)}*` });
    expect(long.text).toMatch(/^k=~~[0-9a-f]{64}$/);
  });

  test('share_threshold makes one bucket in a domain that is spread by that entry, too', () => {
    expect(sharedKeyOf('k=v', 'path=/ab', 'path')).toBe('p-1{d|~/a*}tb60|k=v|path=~/a*');
    expect(sharedKeyOf('k=v', 'path=/ab', 'k')).toBe('p-1{d|v}tb60|k=v|path=~/a*');
    const starred = [sharedEntry({ key: 'p*', value: '*' })];
    expect(bucketKey({ prefix: '', domain: 'd', hashTag: 'path', entries: entriesOf('path=x'), limit, shared: starred })).toBe(
      '1{d}tb60|~p*=~*',
    );
  });
});

test('a long part is written as its digest, which no text can imitate', () => {
  const long = 'x'.repeat(257);
  const key = keyOf('d', [{ key: 'k', value: long }]);
  const digest = key.slice(key.indexOf('~'));
  expect(digest).toMatch(/^~[0-9a-f]{64}$/);
  expect(keyOf('d', [{ key: 'k', value: digest }])).not.toBe(key);
  expect(keyOf('d', [{ key: 'k', value: `${long}y` }])).not.toBe(key);
});

const piece = fc.oneof(
  fc.constantFrom('a', 'b', '_', '|', '=', '{', '}', '%', '~', ':', 'weir:', '%7c', '\x00', ' ', '\xc3', '\xa9', ''),
  anyText({ maxLength: 3 }).map((text) => toByteString(text)),
);
const text = fc.array(piece, { maxLength: 4 }).map((pieces) => pieces.join(''));
const entries = fc.array(fc.record({ key: text, value: text }), { maxLength: 3 });

test('different requests have different keys, all printable, none with "weir:"', () => {
  fc.assert(
    fc.property(text, entries, text, entries, fc.option(text, { nil: undefined }), (domainA, entriesA, domainB, entriesB, hashTag) => {
      const spread = hashTag === undefined ? {} : { hashTag: entriesA[0]?.key ?? hashTag };
      const [a, b] = [keyOf(domainA, entriesA, spread), keyOf(domainB, entriesB, spread)];
      const same = JSON.stringify([domainA, entriesA]) === JSON.stringify([domainB, entriesB]);
      expect(a === b).toBe(same);
      expect(a).toMatch(/^[!-~]+$/);
      expect(a).not.toContain('weir:');
      expect(a.indexOf('}')).toBe(a.lastIndexOf('}'));
    }),
    seeded(20_000),
  );
});

describe('a key that is too long', () => {
  const entriesWith = (last: string): Entry[] => [
    ...Array.from({ length: 15 }, (_, i) => ({ key: `${i}`.repeat(200), value: 'x'.repeat(256) })),
    { key: 'k', value: last },
  ];

  test('has the digest of its entries, and keeps prefix, tag and limit in clear text', () => {
    const key = keyOf('d', entriesWith('a'), { prefix: 'eu}-', hashTag: 'k' });
    expect(key).toMatch(/^eu}-1{d\|a}tb60\|~[0-9a-f]{64}$/);
    expect(keyOf('d', entriesWith('a'), { prefix: 'eu}-', hashTag: 'k' })).toBe(key);
    expect(keyOf('d', entriesWith('b'), { prefix: 'eu}-', hashTag: 'k' })).not.toBe(key);
  });

  test('differs from the key of an entry that imitates the digest', () => {
    const [, digest = ''] = /\|(~.*)$/.exec(keyOf('d', entriesWith('a'))) ?? [];
    expect(keyOf('d', entriesOf(`${digest}=`))).not.toBe(keyOf('d', entriesWith('a')));
    expect(keyOf('d', entriesOf(digest))).not.toBe(keyOf('d', entriesWith('a')));
  });

  test('is at most 2,000 characters long, whatever the entries are', () => {
    const wide = Array.from({ length: 64 }, (_, i) => ({ key: `\xff${i}`.repeat(60), value: '\xfe'.repeat(256) }));
    expect(keyOf('\xfd'.repeat(256), wide, { hashTag: wide[0]!.key }).length).toBeLessThanOrEqual(2_000);
  });
});
