/** The address of a client is counted from the right of X-Forwarded-For. */

import { clientNetwork } from '../../../../../src/server/transport/http/check/client-network';

test.each([
  ['192.0.2.1', 0, '192.0.2.1'],
  ['10.9.9.9, 192.0.2.1', 0, '192.0.2.1'],
  ['10.9.9.9,192.0.2.1,198.51.100.7', 1, '192.0.2.1'],
  ['invented, 10.9.9.9 ,\t192.0.2.1 , 198.51.100.7, 198.51.100.8', 2, '192.0.2.1'],
  [',192.0.2.1', 0, '192.0.2.1'],
  ['192.0.2.1:4711', 0, '192.0.2.1'],
  ['::ffff:192.0.2.1', 0, '192.0.2.1'],
  ['::FFFF:c000:0201', 0, '192.0.2.1'],
  ['2001:db8:1:2:3:4:5:6', 0, '2001:db8:1:2::/64'],
  ['2001:0DB8:1:2::9', 0, '2001:db8:1:2::/64'],
  ['[2001:db8::1]:443', 0, '2001:db8:0:0::/64'],
  ['[2001:db8::1]', 0, '2001:db8:0:0::/64'],
  ['::1', 0, '0:0:0:0::/64'],
  ['64:ff9b::192.0.2.33', 0, '64:ff9b:0:0::/64'],
  ['fe80::1%eth0', 0, 'fe80:0:0:0::/64'],
])('%s behind %i further proxies is %s', (forwardedFor, hops, network) => {
  expect(clientNetwork(forwardedFor, hops)).toBe(network);
});

test.each([
  ['', 0],
  ['unknown', 0],
  ['192.0.2.1, ', 0],
  ['192.0.2.1, _hidden', 0],
  ['192.0.2.300', 0],
  ['192.0.2.1', 1],
  ['', 2],
  [',', 2],
  ['192.0.2.1, 198.51.100.7', 2],
  ['[192.0.2.1', 0],
])('%p has no address %i places before the last', (forwardedFor, hops) => {
  expect(clientNetwork(forwardedFor, hops)).toBeUndefined();
});

test('two addresses of one /64 are one client, of two are two', () => {
  const [one, same, other] = ['2001:db8:0:1::1', '2001:db8:0:1:ffff::2', '2001:db8:0:2::1'].map((address) => clientNetwork(address, 0));
  expect(same).toBe(one);
  expect(other).not.toBe(one);
});
