/** Where the gRPC port listens: on TCP or a unix socket, with TLS or without. Hands on the sockets that may speak HTTP/2. */

import { chmod } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer, type Server as TlsServer } from 'node:tls';
import type { ConnectionMeasure } from './connection-measure';
import { objectionTo, secureContextOf, tlsOptionsOf, type ServerTls } from './server-tls';
import { removeStaleSocket } from './unix-socket';

/** Connections at once: Envoy opens one for each of its threads. */
export const CONNECTIONS_MAX = 16_384;

/** How long a client may take to begin: with TLS, and with HTTP/2. */
export const HANDSHAKE_TIMEOUT_MS = 10_000;

/** TCP asks a silent peer after so long whether it is there. */
const TCP_KEEP_ALIVE_MS = 60_000;

/** `isPrivate`: of this process alone, where workers have their ports in common. */
export type GrpcAddress =
  | { readonly host: string; readonly port: number; readonly isPrivate?: true }
  | { readonly path: string; readonly mode: number; readonly isShared?: boolean };

export interface GrpcListenerOptions {
  readonly measure: ConnectionMeasure;
  readonly tls?: ServerTls | undefined;
  readonly connectionsMax?: number;
  readonly handshakeTimeoutMs?: number;
  /** Whether a peer that has said everything may still be answered. */
  readonly allowHalfOpen: boolean;
  readonly onSocket: (socket: Socket) => void;
}

export class GrpcListener {
  private readonly server: Server;
  /** All that are open, those in a TLS handshake too. */
  private readonly sockets = new Set<Socket>();

  constructor(private readonly options: GrpcListenerOptions) {
    const { tls, allowHalfOpen, onSocket, measure, connectionsMax = CONNECTIONS_MAX, handshakeTimeoutMs = HANDSHAKE_TIMEOUT_MS } = options;
    const tcp = { noDelay: true, keepAlive: true, keepAliveInitialDelay: TCP_KEEP_ALIVE_MS };
    this.server =
      tls === undefined ? createServer({ ...tcp, allowHalfOpen }, onSocket) : this.secured(createTlsServer({ ...tcp, ...tlsOptionsOf(tls, { handshakeTimeoutMs }) }), tls);
    this.server.maxConnections = connectionsMax;
    this.server.prependListener('connection', (socket) => {
      this.sockets.add(socket);
      measure.onOpen();
      socket.once('close', () => {
        this.sockets.delete(socket);
        measure.onClose();
      });
    });
    this.server.on('drop', (dropped) => {
      measure.onEnd('too_many', `${this.server.maxConnections} connections are open, and one more came from ${dropped?.remoteAddress ?? 'a unix socket'}`);
    });
  }

  /** Listens; port 0 takes a free one, and a unix socket has 0. Rejects if the address can't be bound. */
  async listen(address: GrpcAddress): Promise<{ port: number }> {
    // Of workers the first to listen would be taken for a stranger by the next.
    if ('path' in address && address.isShared !== true) await removeStaleSocket(address.path);
    await new Promise<void>((resolve, reject) => {
      this.server.once('error', reject);
      this.server.listen('path' in address ? { path: address.path } : { host: address.host, port: address.port, exclusive: address.isPrivate === true }, () => {
        this.server.off('error', reject);
        resolve();
      });
    });
    if ('path' in address) await chmod(address.path, address.mode);
    const bound = this.server.address();
    return { port: typeof bound === 'object' && bound !== null ? bound.port : 0 };
  }

  /** Takes no more, and removes the file of a unix socket. Resolves when all that are open are closed. */
  close(): Promise<void> {
    return new Promise((resolve) => {
      this.server.close(() => {
        resolve();
      });
    });
  }

  /** Closes what is still open: at the end of a drain, what has never come beyond its TLS handshake. */
  cut(): void {
    for (const socket of this.sockets) socket.destroy();
  }

  private secured(server: TlsServer, tls: ServerTls): TlsServer {
    const { measure, onSocket, allowHalfOpen } = this.options;
    server.on('secureConnection', (socket) => {
      // Told by 'close', which follows.
      socket.on('error', () => undefined);
      const objection = objectionTo(socket, tls);
      if (objection === undefined) {
        // Not before: who goes away during the handshake is gone.
        socket.allowHalfOpen = allowHalfOpen;
        onSocket(socket);
        return;
      }
      measure.onEnd('tls', `a client at ${placeOf(socket)} was refused: ${objection}`);
      socket.destroy();
    });
    server.on('tlsClientError', (error: NodeJS.ErrnoException, socket) => {
      // Its type says Error, but it is the code of one.
      const distrust: unknown = socket.authorizationError;
      if (error.code === 'ERR_TLS_HANDSHAKE_TIMEOUT') measure.onEnd('handshake_timeout', `a client at ${placeOf(socket)} did not finish its TLS handshake in time`);
      else if (typeof distrust === 'string') measure.onEnd('tls', `a client at ${placeOf(socket)} was refused: its certificate is not trusted (${distrust})`);
      // One that went away by itself, as a probe of the port does, was not ended by us.
      else if (error.code !== 'ECONNRESET') measure.onEnd('tls', `the TLS handshake of a client at ${placeOf(socket)} failed: ${reasonOf(error)}`);
      socket.destroy();
    });
    tls.onReady?.((material) => {
      server.setSecureContext(secureContextOf(material));
    });
    return server;
  }
}

/** OpenSSL's own words, if it is an error of OpenSSL's: the message has numbers around them. */
function reasonOf(error: Error): string {
  return 'reason' in error ? String(error.reason) : error.message;
}

/** Where a peer is, for the log. */
export function placeOf(socket: Socket): string {
  return socket.remoteAddress ?? 'a unix socket';
}
