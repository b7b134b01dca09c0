/** The address of a client, for a descriptor: that of the socket, or one of X-Forwarded-For that a trusted proxy wrote. */

import type { IncomingMessage } from 'node:http';
import { isIP, isIPv6 } from 'node:net';

export interface ClientAddressOptions {
  /**
   * How many proxies in front of this server append to X-Forwarded-For. Default: 0, and the header, which any client can write, is ignored.
   */
  readonly trustedHops?: number;
  /** Leading bits of an IPv6 address that count: a client has a whole network of them. Default: 64. */
  readonly ipv6PrefixBits?: number;
}

/** A request without an address, as on a unix socket, counts together with all others without one. */
const UNKNOWN = 'unknown';

const IPV6_BITS = 128;
const IPV6_PREFIX_BITS = 64;
const GROUP_BITS = 16;
const GROUPS = IPV6_BITS / GROUP_BITS;
const MAPPED_ZEROS = 5;
const BYTE_BITS = 8;

/** An IPv4 address written as IPv6. */
const MAPPED = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i;

export function clientAddress(
  { headers, socket }: Pick<IncomingMessage, 'headers' | 'socket'>,
  { trustedHops = 0, ipv6PrefixBits = IPV6_PREFIX_BITS }: ClientAddressOptions = {},
): string {
  const peer = socket.remoteAddress ?? UNKNOWN;
  return normalized(trustedHops === 0 ? peer : (forwardedFor(headers, trustedHops) ?? peer), ipv6PrefixBits);
}

/** What the outermost trusted proxy wrote. Undefined if that is not an address, or if fewer proxies wrote: the rest comes from the client. */
function forwardedFor(headers: IncomingMessage['headers'], trustedHops: number): string | undefined {
  const written = [headers['x-forwarded-for'] ?? []].flat().join(',').split(',');
  const address = withoutPort(written.at(-trustedHops)?.trim() ?? '');
  return isIP(address) === 0 ? undefined : address;
}

/** Some load balancers write a port. */
function withoutPort(text: string): string {
  const [, bracketed, plain] = /^(?:\[([^\]]+)\](?::\d+)?|(\d+\.\d+\.\d+\.\d+):\d+)$/.exec(text) ?? [];
  return bracketed ?? plain ?? text;
}

function normalized(address: string, ipv6PrefixBits: number): string {
  const [, mapped] = MAPPED.exec(address) ?? [];
  if (mapped !== undefined) return mapped;
  return isIPv6(address) ? toNetwork(address, ipv6PrefixBits) : address;
}

/** The network, always in the same spelling: `2001:db8:0:0::/64`. */
function toNetwork(address: string, prefixBits: number): string {
  const [withoutZone = ''] = address.split('%');
  const all = groupsOf(withoutZone);
  if (isMappedInHex(all))
    return all
      .slice(MAPPED_ZEROS + 1)
      .flatMap((group) => [group >> BYTE_BITS, group & 0xff])
      .join('.');
  const groups = all.map((group, index) => {
    const bits = Math.min(Math.max(prefixBits - index * GROUP_BITS, 0), GROUP_BITS);
    return group & (0xffff << (GROUP_BITS - bits)) & 0xffff;
  });
  const kept = groups.slice(0, Math.ceil(prefixBits / GROUP_BITS)).map((group) => group.toString(16));
  return kept.length === GROUPS ? `${kept.join(':')}/${prefixBits}` : `${kept.join(':')}::/${prefixBits}`;
}

/** An IPv4 address in the last two groups. */
function isMappedInHex(groups: readonly number[]): boolean {
  return groups.slice(0, MAPPED_ZEROS).every((group) => group === 0) && groups[MAPPED_ZEROS] === 0xffff;
}

function groupsOf(address: string): number[] {
  const [head = '', tail] = withoutDots(address).split('::');
  const read = (part: string): number[] => (part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16)));
  const [first, last] = [read(head), read(tail ?? '')];
  const zeros = tail === undefined ? 0 : Math.max(0, GROUPS - first.length - last.length);
  return [...first, ...new Array<number>(zeros).fill(0), ...last];
}

/** The last two groups may be written as an IPv4 address. */
function withoutDots(address: string): string {
  return address.replace(/(\d+)\.(\d+)\.(\d+)\.(\d+)$/, (_, ...bytes: string[]) => {
    const [a = 0, b = 0, c = 0, d = 0] = bytes.slice(0, 4).map(Number);
    return `${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
  });
}
