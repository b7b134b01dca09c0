/** The address of a client is that of the socket, or one that a trusted proxy wrote. */

import type { IncomingMessage } from 'node:http';
import { clientNetwork } from '../../../src/server/transport/http/check/client-network';
import { clientAddress, type ClientAddressOptions } from '../../../src/program/library/middleware/client-address';

function addressOf(peer: string | undefined, forwarded?: string | string[], options?: ClientAddressOptions): string {
  const headers = forwarded === undefined ? {} : { 'x-forwarded-for': forwarded };
  return clientAddress({ headers, socket: { remoteAddress: peer } } as unknown as IncomingMessage, options);
}

test('the address is that of the socket, whatever X-Forwarded-For says', () => {
  expect(addressOf('192.0.2.1', '203.0.113.9')).toBe('192.0.2.1');
  expect(addressOf('::ffff:192.0.2.1', '203.0.113.9')).toBe('192.0.2.1');
  expect(addressOf(undefined, '203.0.113.9')).toBe('unknown');
});

test.each<[string, number, string | string[] | undefined, string]>([
  ['one proxy', 1, '203.0.113.9', '203.0.113.9'],
  ['one proxy, and an invention of the client before it', 1, '10.9.9.9, 203.0.113.9', '203.0.113.9'],
  ['two proxies', 2, '10.9.9.9, 203.0.113.9, 198.51.100.7', '203.0.113.9'],
  ['a header of its own for each proxy', 2, ['10.9.9.9', '203.0.113.9', '198.51.100.7'], '203.0.113.9'],
  ['fewer proxies than trusted', 2, '203.0.113.9', '192.0.2.1'],
  ['no header', 1, undefined, '192.0.2.1'],
  ['an empty header', 1, '', '192.0.2.1'],
  ['a text that is no address', 1, 'unknown', '192.0.2.1'],
  ['an address with a port', 1, '203.0.113.9:4711', '203.0.113.9'],
  ['an IPv6 address with a port', 1, '[2001:db8:1:2:3::4]:4711', '2001:db8:1:2::/64'],
])('behind trusted proxies it is what the outermost wrote: %s', (_, trustedHops, forwarded, address) => {
  expect(addressOf('192.0.2.1', forwarded, { trustedHops })).toBe(address);
});

test.each([
  ['2001:db8:1:2:3:4:5:6', 64, '2001:db8:1:2::/64'],
  ['2001:DB8:1:2::', 64, '2001:db8:1:2::/64'],
  ['::ffff:c000:201', 64, '192.0.2.1'],
  ['2001:db8::6', 64, '2001:db8:0:0::/64'],
  ['2001:db8:1:2:3:4:5:6', 56, '2001:db8:1:0::/56'],
  ['2001:db8:1:ff:3:4:5:6', 60, '2001:db8:1:f0::/60'],
  ['2001:db8:1:2:3:4:5:6', 48, '2001:db8:1::/48'],
  ['2001:db8:1:2:3:4:5:6', 128, '2001:db8:1:2:3:4:5:6/128'],
  ['64:ff9b::192.0.2.1', 128, '64:ff9b:0:0:0:0:c000:201/128'],
  ['fe80::1%eth0', 64, 'fe80:0:0:0::/64'],
  ['::', 64, '0:0:0:0::/64'],
  ['::1', 128, '0:0:0:0:0:0:0:1/128'],
])('an IPv6 address counts by its network: %s with %d bits is %s', (peer, ipv6PrefixBits, address) => {
  expect(addressOf(peer, undefined, { ipv6PrefixBits })).toBe(address);
});

test('the network is written as /check writes it, so that both count in one bucket', () => {
  const addresses = [
    '2001:db8::1',
    '2001:db8:1:2:3:4:5:6',
    '::1',
    '64:ff9b::192.0.2.1',
    '::ffff:c000:201',
    '::ffff:192.0.2.1',
    '192.0.2.1',
  ];
  for (const address of addresses) expect(addressOf(address)).toBe(clientNetwork(address, 0));
});

test('spellings of one IPv6 address are one client', () => {
  const spellings = ['2001:db8:0:0:0:0:0:1', '2001:db8::1', '2001:0DB8::0001', '2001:db8:0::1'];
  expect(new Set(spellings.map((peer) => addressOf(peer))).size).toBe(1);
});
