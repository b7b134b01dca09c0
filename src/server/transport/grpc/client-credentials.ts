/** TLS credentials of this process as a gRPC client: they verify the server by name, or by address if it has no name. */

import { readFileSync } from 'node:fs';
import { isIP, type Socket } from 'node:net';
import { connect, createSecureContext, type SecureContext } from 'node:tls';
import { CallCredentials, ChannelCredentials, experimental, type ChannelOptions } from '@grpc/grpc-js';

/** PEM texts. */
export interface ClientTls {
  /** Absent: the CAs of `GRPC_DEFAULT_SSL_ROOTS_FILE_PATH`, or else those that Node trusts. */
  readonly authorities?: Buffer | undefined;
  readonly certificate?: Buffer | undefined;
  readonly key?: Buffer | undefined;
}

/** By address, the variables of grpc-js hold as well, as they do by name. */
export function tlsCredentials({ authorities, certificate, key }: ClientTls): ChannelCredentials {
  const named = ChannelCredentials.createSsl(authorities, key, certificate);
  const { GRPC_DEFAULT_SSL_ROOTS_FILE_PATH: rootsPath, GRPC_SSL_CIPHER_SUITES: ciphers } = process.env;
  const ca = authorities ?? (rootsPath ? readFileSync(rootsPath) : undefined);
  return new TlsCredentials(named, createSecureContext({ ca, key, cert: certificate, ciphers }));
}

/**
 * Same as the credentials of grpc-js, except that an address is never sent as a server name: RFC 6066 forbids it, and from Node 26 on
 * it is an error, so servers could not be reached by address.
 */
class TlsCredentials extends ChannelCredentials {
  constructor(
    private readonly named: ChannelCredentials,
    private readonly secureContext: SecureContext,
  ) {
    super();
  }

  _isSecure(): boolean {
    return true;
  }

  _equals(other: ChannelCredentials): boolean {
    return this === other;
  }

  _createSecureConnector(
    target: experimental.GrpcUri,
    options: ChannelOptions,
    callCredentials = CallCredentials.createEmpty(),
  ): experimental.SecureConnector {
    const host = options['grpc.ssl_target_name_override'] ?? experimental.splitHostPort(target.path)?.host ?? target.path;
    if (isIP(host) === 0) return this.named._createSecureConnector(target, options, callCredentials);
    return {
      connect: (socket) => secureByAddress({ socket, host, secureContext: this.secureContext }),
      waitForReady: () => Promise.resolve(),
      getCallCredentials: () => callCredentials,
      destroy: () => undefined,
    };
  }
}

interface ByAddress {
  readonly socket: Socket;
  readonly host: string;
  readonly secureContext: SecureContext;
}

/** Without a server name Node checks the certificate against `host`. */
function secureByAddress({ socket, host, secureContext }: ByAddress): Promise<experimental.SecureConnectResult> {
  return new Promise((resolve, reject) => {
    const secured = connect({ socket, host, secureContext, ALPNProtocols: ['h2'], rejectUnauthorized: true }, () => {
      resolve({ socket: secured, secure: true });
    });
    // An untrusted certificate emits 'error', too.
    secured.on('error', reject);
  });
}
