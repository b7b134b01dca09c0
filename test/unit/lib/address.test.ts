/** Addresses and networks are read as Node reads them. */

import { isIPv4, isIPv6 } from 'node:net';
import { clientText, itemBeforeLast, networkText, parseAddress, parseClient, parseNetwork, withoutPort } from '../../../src/lib/address';
import { randomFrom, seeded } from '../../support/random/random';

const PARTS = [
  '0',
  '1',
  '7',
  '01',
  '10',
  '255',
  '256',
  '300',
  'f',
  'ff',
  'fffff',
  'FFFF',
  '1a2b',
  'g',
  '',
  '.',
  ':',
  '::',
  '%',
  ' ',
  '-1',
  '1.2.3.4',
];
const SEPARATORS = ['.', ':', ':', '.', ':', '::'];

test('a text is an address if Node says so', () => {
  const { numRuns, seed } = seeded(80_000);
  const random = randomFrom({ seed });
  const seen = { good: 0, bad: 0 };
  for (let run = 0; run < numRuns; run += 1) {
    const separator = SEPARATORS[random(SEPARATORS.length)]!;
    const count = separator === '.' ? 3 + random(3) : 1 + random(9);
    const small = random(2) === 0 ? 6 : PARTS.length;
    const text = Array.from({ length: count }, () => PARTS[random(small)]!).join(random(6) === 0 ? '::' : separator);
    const isAddress = isIPv4(text) || isIPv6(text);
    expect({ text, isAddress: parseAddress(text) !== undefined }).toEqual({ text, isAddress });
    seen[isAddress ? 'good' : 'bad'] += 1;
  }
  expect(Math.min(seen.good, seen.bad)).toBeGreaterThan(numRuns / 50);
});

test.each([
  ['fe80::1%eth0', true],
  ['fe80::1%', false],
  ['192.0.2.1%eth0', false],
  ['::ffff:192.0.2.1', true],
  ['1:2:3:4:5:6:7::', true],
  ['1:2:3:4:5:6:7:8::', false],
  [':1:2:3:4:5:6:7', false],
  ['1:2:3:4:5:6:7:', false],
  ['1::2::3', false],
  ['1:2:3:4:5:6:7:1.2.3.4', false],
])('%s: %s', (text, isAddress) => {
  expect(parseAddress(text) !== undefined).toBe(isAddress);
  expect(isIPv4(text) || isIPv6(text)).toBe(isAddress);
});

test.each([
  ['192.0.2.1:5000', '192.0.2.1'],
  ['192.0.2.1:123456', '192.0.2.1:123456'],
  ['[2001:db8::1]:5000', '2001:db8::1'],
  ['[2001:db8::1]', '2001:db8::1'],
  ['2001:db8::1', '2001:db8::1'],
])('without its port %s is %s', (text, address) => {
  expect(withoutPort(text)).toBe(address);
});

test('a list is read from its end', () => {
  expect([0, 1, 2, 3].map((places) => itemBeforeLast('a, b ,c', places))).toEqual(['c', 'b', 'a', undefined]);
  expect([0, 1].map((places) => itemBeforeLast('', places))).toEqual(['', undefined]);
});

test.each([
  ['10.0.0.0/8', '10.0.0.0/8'],
  ['10.1.2.3', '10.1.2.3/32'],
  ['0.0.0.0/0', '0.0.0.0/0'],
  ['2001:DB8::/32', '2001:db8::/32'],
  ['2001:db8:0:0::/64', '2001:db8::/64'],
  ['::/0', '::/0'],
  ['::1', '0:0:0:0:0:0:0:1/128'],
  ['::ffff:10.0.0.0/104', '10.0.0.0/8'],
  ['::ffff:10.1.2.3', '10.1.2.3/32'],
  ['::ffff:0:0/90', undefined],
  ['10.0.0.0/33', undefined],
  ['10.0.0.0/08', undefined],
  ['10.0.0.0/', undefined],
  ['10.0.0/8', undefined],
  ['2001:db8::/129', undefined],
  ['api/8', undefined],
])('the network %s is %s', (text, shown) => {
  const network = parseNetwork(text);
  expect(network && networkText(network)).toBe(shown);
  if (shown !== undefined) expect(parseNetwork(shown)).toEqual(network);
});

test('what counts as a client reads back as the network that it is', () => {
  for (const text of ['192.0.2.1', '2001:db8:1:2:3:4:5:6', '::1']) {
    const shown = clientText(parseAddress(text)!, 64);
    expect(parseClient(shown)).toEqual(
      text.includes('.') ? parseNetwork(text) : { words: [...parseAddress(text)!.slice(0, 2), 0, 0], bits: 64 },
    );
  }
});
