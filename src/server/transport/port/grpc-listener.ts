/** The listener of the gRPC port: on TCP or a unix socket, with or without TLS. It passes on sockets that may speak HTTP/2. */

import { chmod } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer, type Server as TlsServer } from 'node:tls';
import type { Gate } from '../../../lib/gate';
import type { ConnectionMeasure } from './connection-measure';
import { objectionTo, secureContextOf, tlsOptionsOf, type ServerTls } from './server-tls';
import { removeStaleSocket } from './unix-socket';

/** Maximum of open connections: Envoy opens one for each of its threads. */
export const CONNECTIONS_MAX = 16_384;

/** How long a client may take for its TLS handshake and its first HTTP/2 frame. */
export const HANDSHAKE_TIMEOUT_MS = 10_000;

/** Idle time after which TCP probes the peer. */
const TCP_KEEP_ALIVE_MS = 60_000;

/** `isPrivate`: bound by this process only; workers otherwise share their ports. */
export type GrpcAddress =
  | { readonly host: string; readonly port: number; readonly isPrivate?: true }
  | { readonly path: string; readonly mode: number; readonly isShared?: boolean };

export interface GrpcListenerOptions {
  readonly measure: ConnectionMeasure;
  readonly tls?: ServerTls | undefined;
  readonly connectionsMax?: number;
  readonly handshakeTimeoutMs?: number;
  /** Whether a peer that closed its side still gets answers. */
  readonly allowHalfOpen: boolean;
  /** Connections wait until it opens; absent: it is open. */
  readonly gate?: Gate | undefined;
  readonly onSocket: (socket: Socket) => void;
}

export class GrpcListener {
  private readonly server: Server;
  /** All open sockets, including those in a TLS handshake. */
  private readonly sockets = new Set<Socket>();

  constructor(private readonly options: GrpcListenerOptions) {
    const { tls, allowHalfOpen, measure, connectionsMax = CONNECTIONS_MAX, handshakeTimeoutMs = HANDSHAKE_TIMEOUT_MS } = options;
    const tcp = { noDelay: true, keepAlive: true, keepAliveInitialDelay: TCP_KEEP_ALIVE_MS };
    this.server =
      tls === undefined
        ? createServer({ ...tcp, allowHalfOpen }, (socket) => {
            this.admit(socket);
          })
        : this.secured(createTlsServer({ ...tcp, ...tlsOptionsOf(tls, { handshakeTimeoutMs }) }), tls);
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
      measure.onEnd(
        'too_many',
        `${this.server.maxConnections} connections are open, so the one from ${dropped?.remoteAddress ?? 'a unix socket'} was not accepted`,
      );
    });
  }

  /** Listens; port 0 selects a free port, and a unix socket has port 0. Rejects if the address cannot be bound. */
  async listen(address: GrpcAddress): Promise<{ port: number }> {
    // Workers share a socket, so the one that exists may be that of another worker.
    if ('path' in address && address.isShared !== true) await removeStaleSocket(address.path);
    await new Promise<void>((resolve, reject) => {
      this.server.once('error', reject);
      this.server.listen(
        'path' in address ? { path: address.path } : { host: address.host, port: address.port, exclusive: address.isPrivate === true },
        () => {
          this.server.off('error', reject);
          resolve();
        },
      );
    });
    if ('path' in address) await chmod(address.path, address.mode);
    const bound = this.server.address();
    return { port: typeof bound === 'object' && bound !== null ? bound.port : 0 };
  }

  /** Accepts nothing more, and removes the file of a unix socket. Resolves when all sockets are closed. */
  close(): Promise<void> {
    return new Promise((resolve) => {
      this.server.close(() => {
        resolve();
      });
    });
  }

  /** Closes the remaining sockets at the end of a drain: those that never finished their TLS handshake. */
  cut(): void {
    for (const socket of this.sockets) socket.destroy();
  }

  /** Passes the socket on, once the gate is open. Nothing of it is read before that. */
  private admit(socket: Socket): void {
    const { gate, onSocket } = this.options;
    if (gate === undefined || gate.isOpen) {
      onSocket(socket);
      return;
    }
    // 'close' follows each error, and is handled.
    socket.on('error', () => undefined);
    void gate.opened.then(() => {
      if (!socket.destroyed) onSocket(socket);
    });
  }

  private secured(server: TlsServer, tls: ServerTls): TlsServer {
    const { measure, allowHalfOpen } = this.options;
    server.on('secureConnection', (socket) => {
      // 'close' follows each error, and is handled.
      socket.on('error', () => undefined);
      const objection = objectionTo(socket, tls);
      if (objection === undefined) {
        // Set only now: a client that closes its side during the handshake is gone.
        socket.allowHalfOpen = allowHalfOpen;
        this.admit(socket);
        return;
      }
      measure.onEnd('tls', `a client at ${placeOf(socket)} was rejected: ${objection}`);
      socket.destroy();
    });
    server.on('tlsClientError', (error: NodeJS.ErrnoException, socket) => {
      // Typed as Error, but at runtime it is an error code.
      const distrust: unknown = socket.authorizationError;
      if (error.code === 'ERR_TLS_HANDSHAKE_TIMEOUT')
        measure.onEnd('handshake_timeout', `a client at ${placeOf(socket)} did not finish its TLS handshake in time`);
      else if (typeof distrust === 'string')
        measure.onEnd('tls', `a client at ${placeOf(socket)} was rejected: its certificate is not trusted (${distrust})`);
      // A client that disconnects by itself, like a port probe, was not ended by Weir.
      else if (error.code !== 'ECONNRESET')
        measure.onEnd('tls', `the TLS handshake of a client at ${placeOf(socket)} failed: ${reasonOf(error)}`);
      socket.destroy();
    });
    tls.onReady?.((material) => {
      server.setSecureContext(secureContextOf(material));
    });
    return server;
  }
}

/** The text of OpenSSL without the numbers around it, if the error is from OpenSSL. */
function reasonOf(error: Error): string {
  return 'reason' in error ? String(error.reason) : error.message;
}

/** The peer's address, for the log. */
export function placeOf(socket: Socket): string {
  return socket.remoteAddress ?? 'a unix socket';
}
