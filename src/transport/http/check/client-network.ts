/** Finds the address of a client in X-Forwarded-For, counted from the right: what is left of it, clients can invent. */

import { isIPv4, isIPv6 } from 'node:net';
import type { ByteString } from '../../../descriptor/descriptor';

/** Groups of an IPv6 address that name a client: one host may have a whole /64. */
const NETWORK_GROUPS = 4;

/**
 * `hops` is how many of the last addresses are of proxies. An IPv4 address, also one in IPv6 form, or the /64 of an IPv6 address.
 * Undefined: that place has no valid address.
 */
export function clientNetwork(forwardedFor: ByteString, hops: number): string | undefined {
  let end = forwardedFor.length;
  for (let hop = 0; hop < hops; hop += 1) {
    const comma = forwardedFor.lastIndexOf(',', end - 1);
    if (comma === -1 || end === 0) return undefined;
    end = comma;
  }
  const start = end === 0 ? 0 : forwardedFor.lastIndexOf(',', end - 1) + 1;
  return networkOf(withoutPort(forwardedFor.slice(start, end).trim()));
}

/** Some load balancers add the port: `192.0.2.1:5000`, `[2001:db8::1]:5000`. */
function withoutPort(address: string): string {
  const [, bracketed, plain] = /^(?:\[([^\]]*)\](?::\d{1,5})?|([\d.]+):\d{1,5})$/.exec(address) ?? [];
  return bracketed ?? plain ?? address;
}

function networkOf(address: string): string | undefined {
  if (isIPv4(address)) return address;
  if (!isIPv6(address)) return undefined;
  const [whole = ''] = address.split('%', 1);
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(whole)?.[1];
  if (mapped !== undefined) return mapped;
  const groups = groupsOf(whole);
  const isMapped = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff;
  if (isMapped) return [groups[6] ?? 0, groups[7] ?? 0].flatMap((group) => [group >> 8, group & 0xff]).join('.');
  return `${groups
    .slice(0, NETWORK_GROUPS)
    .map((group) => group.toString(16))
    .join(':')}::/64`;
}

/** The eight groups of a valid address; a dotted end counts as two. */
function groupsOf(address: string): readonly number[] {
  const hex = address.replace(
    /(\d+)\.(\d+)\.(\d+)\.(\d+)$/,
    (_, ...bytes: string[]) =>
      `${(Number(bytes[0]) * 256 + Number(bytes[1])).toString(16)}:${(Number(bytes[2]) * 256 + Number(bytes[3])).toString(16)}`,
  );
  const [head = '', tail] = hex.split('::');
  const before = numbersOf(head);
  const after = tail === undefined ? [] : numbersOf(tail);
  const zeros = new Array<number>(Math.max(0, 8 - before.length - after.length)).fill(0);
  return [...before, ...zeros, ...after];
}

function numbersOf(groups: string): readonly number[] {
  return groups === '' ? [] : groups.split(':').map((group) => Number.parseInt(group, 16));
}
