/** The address of a client, for a descriptor: that of the socket, or one of X-Forwarded-For that a trusted proxy wrote. */

import type { IncomingMessage } from 'node:http';
import { CLIENT_IPV6_BITS, clientText, forwardedAddress, parseAddress, type Address } from '../../../lib/address';

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

export function clientAddress(request: Pick<IncomingMessage, 'headers' | 'socket'>, options: ClientAddressOptions = {}): string {
  const { headers, socket } = request as Partial<typeof request>;
  if (headers === undefined || socket === undefined)
    throw new TypeError(
      'clientAddress takes a request of node:http; in Fastify request.raw, in Koa context.req, in Hono context.env.incoming',
    );
  const { trustedHops = 0, ipv6PrefixBits = CLIENT_IPV6_BITS } = options;
  if (!Number.isInteger(trustedHops) || trustedHops < 0)
    throw new TypeError(`trustedHops is ${String(trustedHops)}; set the number of proxies that append to X-Forwarded-For`);
  if (!Number.isInteger(ipv6PrefixBits) || ipv6PrefixBits < 0 || ipv6PrefixBits > IPV6_BITS)
    throw new TypeError(`ipv6PrefixBits is ${String(ipv6PrefixBits)}; set a whole number from 0 to ${IPV6_BITS}`);
  const peer = socket.remoteAddress ?? UNKNOWN;
  const address = (trustedHops === 0 ? undefined : forwardedFor(headers, trustedHops)) ?? parseAddress(peer);
  return address === undefined ? peer : clientText(address, ipv6PrefixBits);
}

/** The address that the outermost trusted proxy wrote. Undefined if that is not an address, or if fewer proxies wrote: the rest comes from the client. */
function forwardedFor(headers: IncomingMessage['headers'], trustedHops: number): Address | undefined {
  const written = [headers['x-forwarded-for'] ?? []].flat().join(',');
  return forwardedAddress(written, trustedHops - 1);
}
