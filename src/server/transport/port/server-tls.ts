/** TLS of the gRPC port: the server certificate, and the rules for client certificates. */

import { constants } from 'node:crypto';
import type { TLSSocket, TlsOptions } from 'node:tls';

/** PEM text. */
export interface ServerTlsMaterial {
  readonly cert: string;
  readonly key: string;
  /** The CAs of client certificates; undefined: clients need no certificate. */
  readonly clientCa?: string;
}

export interface ServerTls {
  readonly material: ServerTlsMaterial;
  /** A DNS name that each client certificate must have. */
  readonly clientSan?: string;
  /** Called with a function that sets other material for new connections. */
  readonly onReady?: (use: (material: ServerTlsMaterial) => void) => void;
}

const ALPN = 'h2';

/** The ciphers of TLS 1.3, and those of TLS 1.2 that HTTP/2 allows (RFC 9113, section 9.2.2): with forward secrecy and authenticated encryption. */
const CIPHERS = [
  'TLS_AES_128_GCM_SHA256',
  'TLS_AES_256_GCM_SHA384',
  'TLS_CHACHA20_POLY1305_SHA256',
  'ECDHE-ECDSA-AES128-GCM-SHA256',
  'ECDHE-RSA-AES128-GCM-SHA256',
  'ECDHE-ECDSA-AES256-GCM-SHA384',
  'ECDHE-RSA-AES256-GCM-SHA384',
  'ECDHE-ECDSA-CHACHA20-POLY1305',
  'ECDHE-RSA-CHACHA20-POLY1305',
].join(':');

/** The options that change with the material. A reload cannot add or remove client CAs. */
export function secureContextOf({ cert, key, clientCa }: ServerTlsMaterial): TlsOptions {
  const identity = { minVersion: 'TLSv1.2', ciphers: CIPHERS, cert, key } as const;
  // Without session tickets: each connection must present its certificate again.
  return clientCa === undefined ? identity : { ...identity, ca: clientCa, secureOptions: constants.SSL_OP_NO_TICKET };
}

/** `handshakeTimeoutMs`: how long a client may take for the handshake. */
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

/** Why a client is rejected after its handshake; undefined if it is accepted. */
export function objectionTo(socket: TLSSocket, { material, clientSan }: ServerTls): string | undefined {
  if (socket.alpnProtocol !== ALPN) return 'it did not offer ALPN h2';
  if (material.clientCa === undefined) return undefined;
  const certificate = socket.getPeerX509Certificate();
  if (!socket.authorized || certificate === undefined) return 'it has no trusted certificate';
  if (clientSan !== undefined && certificate.checkHost(clientSan, { subject: 'never' }) === undefined)
    return `its certificate does not have the DNS name ${clientSan}`;
  return undefined;
}
