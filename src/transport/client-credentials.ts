/** How a server over TLS is known to this process as its client: by its name, or by its address where it has no other. */

import { isIP, type Socket } from 'node:net';
import { connect, createSecureContext, type SecureContext } from 'node:tls';
import { CallCredentials, ChannelCredentials, experimental, type ChannelOptions } from '@grpc/grpc-js';
// What it reads of `GRPC_DEFAULT_SSL_ROOTS_FILE_PATH` and `GRPC_SSL_CIPHER_SUITES`, which are variables of its own.
import { CIPHER_SUITES, getDefaultRootsData } from '@grpc/grpc-js/build/src/tls-helpers';

/** PEM texts. */
export interface ClientTls {
  /** Absent: those of `GRPC_DEFAULT_SSL_ROOTS_FILE_PATH`, else those that Node trusts. */
  readonly authorities?: Buffer | undefined;
  readonly certificate?: Buffer | undefined;
  readonly key?: Buffer | undefined;
}

export function tlsCredentials({ authorities, certificate, key }: ClientTls): ChannelCredentials {
  const named = ChannelCredentials.createSsl(authorities, key, certificate);
  return new TlsCredentials(named, createSecureContext({ ca: authorities ?? getDefaultRootsData() ?? undefined, key, cert: certificate, ciphers: CIPHER_SUITES }));
}

/**
 * Those of grpc-js, but that an address is not sent as the name of a server: RFC 6066 has no such names, and from Node 26 on
 * it is an error, so that nobody could be reached by address.
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

  _createSecureConnector(target: experimental.GrpcUri, options: ChannelOptions, callCredentials = CallCredentials.createEmpty()): experimental.SecureConnector {
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

/** Node holds the certificate against `host` where no name is given. */
function secureByAddress({ socket, host, secureContext }: ByAddress): Promise<experimental.SecureConnectResult> {
  return new Promise((resolve, reject) => {
    const secured = connect({ socket, host, secureContext, ALPNProtocols: ['h2'], rejectUnauthorized: true }, () => {
      resolve({ socket: secured, secure: true });
    });
    // Also of a certificate that is not the server's.
    secured.on('error', reject);
  });
}
