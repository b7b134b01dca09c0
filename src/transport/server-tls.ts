/** TLS of the gRPC port: what we show to clients, and what they have to show. */

import { constants } from 'node:crypto';
import type { TLSSocket, TlsOptions } from 'node:tls';

/** PEM text. */
export interface ServerTlsMaterial {
  readonly cert: string;
  readonly key: string;
  /** Who may have signed clients' certificates, and nobody else; unset: clients need none. */
  readonly clientCa?: string;
}

export interface ServerTls {
  readonly material: ServerTlsMaterial;
  /** A DNS name that each client's certificate has to carry. */
  readonly clientSan?: string;
  /** Told of a function that takes other material, for connections that come from then on. */
  readonly onReady?: (use: (material: ServerTlsMaterial) => void) => void;
}

const ALPN = 'h2';

/** What new material changes. Whether there is a client CA stays as it was. */
export function secureContextOf({ cert, key, clientCa }: ServerTlsMaterial): TlsOptions {
  const identity = { minVersion: 'TLSv1.2', cert, key } as const;
  // No session is taken up again without the certificate that it began with.
  return clientCa === undefined ? identity : { ...identity, ca: clientCa, secureOptions: constants.SSL_OP_NO_TICKET };
}

/** `handshakeTimeoutMs` is how long a client may take until both sides agree. */
export function tlsOptionsOf({ material }: ServerTls, { handshakeTimeoutMs }: { readonly handshakeTimeoutMs: number }): TlsOptions {
  const isMutual = material.clientCa !== undefined;
  return {
    ...secureContextOf(material),
    ALPNProtocols: [ALPN],
    handshakeTimeout: handshakeTimeoutMs,
    requestCert: isMutual,
    rejectUnauthorized: isMutual,
  };
}

/** Why a client whose handshake has succeeded may not speak; undefined if it may. */
export function objectionTo(socket: TLSSocket, { material, clientSan }: ServerTls): string | undefined {
  if (socket.alpnProtocol !== ALPN) return 'it did not offer ALPN h2';
  if (material.clientCa === undefined) return undefined;
  const certificate = socket.getPeerX509Certificate();
  if (!socket.authorized || certificate === undefined) return 'it has no certificate that is trusted';
  if (clientSan !== undefined && certificate.checkHost(clientSan, { subject: 'never' }) === undefined) return `its certificate does not carry the DNS name ${clientSan}`;
  return undefined;
}
