/** The address range with the longest prefix matches, for IPv4 and IPv6. */

import { BlockList } from 'node:net';
import { clientText, networkText, parseNetwork } from '../../../src/lib/address';
import { NetworkIndex } from '../../../src/domain/descriptor/network-index';
import { randomFrom, seeded, type Random } from '../../support/random/random';

function indexOf(...ranges: readonly string[]): NetworkIndex<string> {
  const index = new NetworkIndex<string>();
  for (const range of ranges) index.add({ key: 'ip', network: parseNetwork(range)!, node: range });
  return index;
}

const RANGES = indexOf('10.0.0.0/8', '10.1.0.0/16', '10.1.2.3', '0.0.0.0/0', '2001:db8::/32', '2001:db8:1::/48', '::ffff:192.0.2.0/120');

test.each([
  ['10.9.9.9', '10.0.0.0/8'],
  ['10.1.9.9', '10.1.0.0/16'],
  ['10.1.2.3', '10.1.2.3'],
  ['10.1.2.3:4711', '10.1.2.3'],
  ['::ffff:10.1.2.3', '10.1.2.3'],
  ['::ffff:a01:203', '10.1.2.3'],
  ['192.0.2.7', '::ffff:192.0.2.0/120'],
  ['203.0.113.9', '0.0.0.0/0'],
  ['2001:db8:1:2::3', '2001:db8:1::/48'],
  ['[2001:db8:9::3]:443', '2001:db8::/32'],
  // As /check and the middlewares write a client of IPv6, and Envoy a masked address.
  ['2001:db8:1:2::/64', '2001:db8:1::/48'],
  ['2001:db8::/16', undefined],
  ['10.1.0.0/12', '10.0.0.0/8'],
  ['2001:db9::1', undefined],
  ['fe80::1%eth0', undefined],
  ['unknown', undefined],
  ['', undefined],
  ['10.1.2', undefined],
  ['10.1.2.3:123456', undefined],
])('%s is in %s', (value, range) => {
  expect(RANGES.find({ key: 'ip', value })).toBe(range);
  expect(RANGES.find({ key: 'other', value })).toBeUndefined();
});

function randomWord(random: Random): number {
  // Few bits, so that ranges include each other and addresses fall into them.
  return (random(4) * 0x40000000 + random(4) * 0x100000 + random(4)) >>> 0;
}

test('among random ranges it finds the longest that includes the address', () => {
  const { numRuns, seed } = seeded(400);
  const random = randomFrom({ seed });
  let found = 0;
  for (let run = 0; run < numRuns; run += 1) {
    const isIpv4 = random(2) === 0;
    const wordsOf = () => Array.from({ length: isIpv4 ? 1 : 4 }, () => randomWord(random));
    const width = isIpv4 ? 32 : 128;
    const family = isIpv4 ? 'ipv4' : 'ipv6';
    const ranges = Array.from({ length: 1 + random(12) }, () => networkText(parseNetwork(`${textOf(wordsOf())}/${random(width + 1)}`)!));
    const index = indexOf(...new Set(ranges));
    for (let ask = 0; ask < 20; ask += 1) {
      const value = textOf(wordsOf());
      const longest = [...new Set(ranges)]
        .filter((range) => {
          const [address = '', bits] = range.split('/');
          const list = new BlockList();
          list.addSubnet(address, Number(bits), family);
          return list.check(value, family);
        })
        .sort((one, other) => Number(other.split('/')[1]) - Number(one.split('/')[1]))[0];
      expect({ value, ranges, range: index.find({ key: 'ip', value }) }).toEqual({ value, ranges, range: longest });
      if (longest !== undefined) found += 1;
    }
  }
  expect(found).toBeGreaterThan(numRuns);
});

function textOf(words: readonly number[]): string {
  return clientText(words, 128).replace('/128', '');
}
