/** Finds the address of a client in X-Forwarded-For, counted from the right: what is left of it, clients can invent. */

import { CLIENT_IPV6_BITS, clientText, forwardedAddress } from '../../../../lib/address';
import type { ByteString } from '../../../../domain/descriptor/descriptor';

/**
 * `hops` is how many of the last addresses are of proxies. An IPv4 address, also one in IPv6 form, or the /64 of an IPv6 address.
 * Undefined: that place has no valid address.
 */
export function clientNetwork(forwardedFor: ByteString, hops: number): string | undefined {
  const address = forwardedAddress(forwardedFor, hops);
  return address && clientText(address, CLIENT_IPV6_BITS);
}
