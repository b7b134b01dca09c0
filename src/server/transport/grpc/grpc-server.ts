/** The gRPC server on grpc-js: `TRANSPORT=grpc-js`. */

import type { Socket } from 'node:net';
import { Server, ServerCredentials, type ConnectionInjector, type ServerOptions } from '@grpc/grpc-js';
import type { Gate } from '../../../lib/gate';
import { UNMEASURED, type ConnectionMeasure } from '../port/connection-measure';
import { DEFAULT_RULES, type ConnectionRules } from '../port/connection-rules';
import { addMethods } from './grpc-js-methods';
import { GrpcListener, type GrpcAddress } from '../port/grpc-listener';
import { makeGrpcServices, type GrpcServices, type GrpcServicesOptions } from './grpc-services';
import { GRPC_MESSAGE_BYTES_MAX } from './grpc-status';
import type { ServerTls } from '../port/server-tls';

export interface GrpcServerOptions extends GrpcServicesOptions {
  readonly tls?: ServerTls | undefined;
  readonly rules?: ConnectionRules;
  readonly measure?: ConnectionMeasure;
  /** Maximum of open connections; further ones are closed at once. */
  readonly connectionsMax?: number;
  /** Connections wait until it opens; absent: it is open. */
  readonly gate?: Gate | undefined;
}

export class GrpcServer {
  private readonly server: Server;
  private readonly services: GrpcServices;
  private injector: ConnectionInjector | undefined;
  /** Open sockets that grpc-js owns. */
  private readonly sockets = new Set<Socket>();
  private onEmpty: () => void = () => undefined;
  private listener: GrpcListener | undefined;
  private isDraining = false;

  constructor(private readonly options: GrpcServerOptions) {
    this.server = new Server(channelOptions(options.rules ?? DEFAULT_RULES));
    this.services = makeGrpcServices(options);
    addMethods(this.server, this.services.methods.values());
  }

  /** Listens; port 0 selects a free port, and a unix socket has port 0. Rejects if the address cannot be bound. */
  start(address: GrpcAddress): Promise<{ port: number }> {
    this.listener = new GrpcListener({
      measure: this.options.measure ?? UNMEASURED,
      tls: this.options.tls,
      allowHalfOpen: false,
      gate: this.options.gate,
      ...(this.options.connectionsMax !== undefined && { connectionsMax: this.options.connectionsMax }),
      onSocket: (socket) => {
        this.inject(socket);
      },
    });
    return this.listener.listen(address);
  }

  /**
   * Turns the health off, accepts no new calls, and resolves when the calls in flight are answered; after
   * `timeoutMs` it closes the rest.
   */
  async drain({ timeoutMs }: { readonly timeoutMs: number }): Promise<void> {
    this.options.health.startDrain();
    this.services.endWatches();
    const closed = this.listener?.close();
    this.isDraining = true;
    // Does not wait for grpc-js to shut down: from Node 24 on it counts closing sessions as gone although they have calls in flight.
    const answered = new Promise<void>((resolve) => {
      this.onEmpty = resolve;
    });
    const timer = setTimeout(() => {
      this.server.forceShutdown();
      for (const socket of this.sockets) socket.destroy();
    }, timeoutMs);
    this.server.tryShutdown(() => undefined);
    if (this.sockets.size > 0) await answered;
    clearTimeout(timer);
    this.listener?.cut();
    await closed;
  }

  private inject(socket: Socket): void {
    // A connection that arrived while the last ones were being closed.
    if (this.isDraining) {
      socket.destroy();
      return;
    }
    this.sockets.add(socket);
    socket.once('close', () => {
      this.sockets.delete(socket);
      if (this.sockets.size === 0) this.onEmpty();
    });
    this.injector ??= this.server.createConnectionInjector(ServerCredentials.createInsecure());
    this.injector.injectConnection(socket);
  }
}

/** Translates the connection rules to options of grpc-js, which enforces them. */
function channelOptions({ streamsMax, maxAgeMs, maxAgeGraceMs, keepaliveTimeMs, keepaliveTimeoutMs }: ConnectionRules): ServerOptions {
  return {
    'grpc.max_receive_message_length': GRPC_MESSAGE_BYTES_MAX,
    'grpc.max_concurrent_streams': streamsMax,
    ...(maxAgeMs > 0 && { 'grpc.max_connection_age_ms': maxAgeMs, 'grpc.max_connection_age_grace_ms': maxAgeGraceMs }),
    ...(keepaliveTimeMs > 0 && { 'grpc.keepalive_time_ms': keepaliveTimeMs, 'grpc.keepalive_timeout_ms': keepaliveTimeoutMs }),
  };
}
