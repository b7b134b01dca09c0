/** Finds the address of a client in X-Forwarded-For, counted from the right: what is left of it, clients can invent. */

import { clientText, itemBeforeLast, parseAddress, withoutPort } from '../../../../lib/address';
import type { ByteString } from '../../../../domain/descriptor/descriptor';

/** Leading bits of an IPv6 address that name a client: one host may have a whole /64. */
const IPV6_PREFIX_BITS = 64;

/**
 * `hops` is how many of the last addresses are of proxies. An IPv4 address, also one in IPv6 form, or the /64 of an IPv6 address.
 * Undefined: that place has no valid address.
 */
export function clientNetwork(forwardedFor: ByteString, hops: number): string | undefined {
  const item = itemBeforeLast(forwardedFor, hops);
  const address = item === undefined ? undefined : parseAddress(withoutPort(item));
  return address && clientText(address, IPV6_PREFIX_BITS);
}
