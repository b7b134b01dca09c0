/** Addresses to which events may be sent: those of the public internet. */

import { includes, parseAddress, parseNetwork, type Network } from '../../../lib/address';

/** Networks of one host, site or provider, and of none: RFC 6890 and later registrations. */
const SPECIAL = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
];

/** IPv6 has one block of public addresses; these parts of it are special, or hold IPv4 addresses that would have to be checked too. */
const PUBLIC_IPV6 = '2000::/3';
const SPECIAL_IPV6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'];

const read = (text: string): Network => {
  const network = parseNetwork(text);
  if (network === undefined) throw new Error(`${text} is not a network`);
  return network;
};

const special = SPECIAL.map(read);
const publicIpv6 = read(PUBLIC_IPV6);
const specialIpv6 = SPECIAL_IPV6.map(read);

/** An IPv4 address in IPv6 form counts as the IPv4 address. A text that is not an address is not public. */
export function isPublicAddress(text: string): boolean {
  const words = parseAddress(text);
  if (words === undefined) return false;
  const address: Network = { words, bits: words.length * 32 };
  if (words.length === 1) return !special.some((network) => includes(network, address));
  return includes(publicIpv6, address) && !specialIpv6.some((network) => includes(network, address));
}
