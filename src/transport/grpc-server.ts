/** The gRPC port: the rate limit service, health and reflection, served by grpc-js. */

import type { Socket } from 'node:net';
import { Server, ServerCredentials, type ConnectionInjector, type sendUnaryData, type ServerOptions, type ServerUnaryCall } from '@grpc/grpc-js';
import { ReflectionService } from '@grpc/reflection';
import type { RateLimitRequest } from '../descriptor/descriptor';
import type { Decision } from '../engine/decision';
import type { BadRequestError } from '../errors';
import type { Health } from '../observability/health';
import { answerOne, type AnswerCalls } from './answer';
import { encodeResponse } from './codec/encode-response';
import { UNMEASURED, type ConnectionMeasure } from './connection-measure';
import { DEFAULT_RULES, type ConnectionRules } from './connection-rules';
import { callOptionsOf } from './grpc-call-options';
import { GrpcHealth } from './grpc-health';
import { GrpcListener, type GrpcAddress } from './grpc-listener';
import { GRPC_MESSAGE_BYTES_MAX, STATUS_OF } from './grpc-status';
import { KnownRequests } from './known-requests';
import { loadProto } from './proto';
import type { ReservationCalls } from './reservation/reservation-calls';
import { addReservationServices } from './reservation/reservation-grpc';
import type { ServerTls } from './server-tls';

type RateLimitCall = ServerUnaryCall<RateLimitRequest | BadRequestError, Decision>;

export interface GrpcServerOptions {
  readonly answerCalls: AnswerCalls;
  /** Undefined: reservations are not served. */
  readonly reservationCalls?: ReservationCalls | undefined;
  readonly health: Health;
  /** Called once for each ShouldRateLimit call, with the time from its arrival to its answer. */
  readonly onCall: (call: { readonly grpcMethod: 'ShouldRateLimit'; readonly seconds: number }) => void;
  readonly tls?: ServerTls | undefined;
  readonly rules?: ConnectionRules;
  readonly measure?: ConnectionMeasure;
}

export class GrpcServer {
  private readonly server: Server;
  private readonly requests = new KnownRequests();
  private readonly grpcHealth: GrpcHealth;
  private injector: ConnectionInjector | undefined;
  /** Those that grpc-js has been given and that are open. */
  private readonly sockets = new Set<Socket>();
  private onEmpty: () => void = () => undefined;
  private listener: GrpcListener | undefined;
  private isDraining = false;

  constructor(private readonly options: GrpcServerOptions) {
    const proto = loadProto();
    this.server = new Server(channelOptions(options.rules ?? DEFAULT_RULES));
    this.grpcHealth = new GrpcHealth(options.health);
    const method = {
      ...proto.rateLimit.ShouldRateLimit,
      // grpc-js would answer INTERNAL to what can't be read, as if the fault were ours: so this never throws.
      requestDeserialize: (bytes: Buffer) => this.requests.read(bytes),
      // grpc-js keeps what it is given, the encoder does not.
      responseSerialize: (decision: Decision) => Buffer.from(encodeResponse(decision)),
    };
    this.server.addService({ ShouldRateLimit: method }, {
      ShouldRateLimit: (call: RateLimitCall, answer: sendUnaryData<Decision>) => {
        void this.shouldRateLimit(call, answer);
      },
    });
    if (options.reservationCalls !== undefined) addReservationServices(this.server, proto, options.reservationCalls);
    this.server.addService(proto.health, this.grpcHealth.handlers);
    new ReflectionService(proto.reflection).addToServer(this.server);
  }

  /** Listens; port 0 takes a free one, and a unix socket has 0. Rejects if the address can't be bound. */
  start(address: GrpcAddress): Promise<{ port: number }> {
    this.listener = new GrpcListener({
      measure: this.options.measure ?? UNMEASURED,
      tls: this.options.tls,
      allowHalfOpen: false,
      onSocket: this.inject,
    });
    return this.listener.listen(address);
  }

  /** Serves a connection that was not made on a port of this server's. */
  readonly inject = (socket: Socket): void => {
    // What came while its last connections were being closed.
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
  };

  /** So that a drain does not wait for streams that never end by themselves. */
  endWatches(): void {
    this.grpcHealth.endWatches();
  }

  /**
   * Turns the health off, takes no new calls, and resolves when those in flight have their answers; after
   * `timeoutMs` it cuts off what is left.
   */
  async drain({ timeoutMs }: { readonly timeoutMs: number }): Promise<void> {
    this.options.health.startDrain();
    this.grpcHealth.endWatches();
    const closed = this.listener?.close();
    this.isDraining = true;
    // Not when grpc-js says that it has shut down: from Node 24 on, the sessions that it closes are taken for gone, with calls in flight.
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

  private async shouldRateLimit(call: RateLimitCall, answer: sendUnaryData<Decision>): Promise<void> {
    const startedMs = performance.now();
    const result = await answerOne(this.options.answerCalls, call.request, callOptionsOf(call));
    if ('decision' in result) answer(null, result.decision);
    else answer({ code: STATUS_OF[result.failure.kind], details: result.failure.message });
    this.options.onCall({ grpcMethod: 'ShouldRateLimit', seconds: (performance.now() - startedMs) / 1000 });
  }
}

/** The rules in the words of grpc-js, which keeps them itself. */
function channelOptions({ streamsMax, maxAgeMs, maxAgeGraceMs, keepaliveTimeMs, keepaliveTimeoutMs }: ConnectionRules): ServerOptions {
  return {
    'grpc.max_receive_message_length': GRPC_MESSAGE_BYTES_MAX,
    'grpc.max_concurrent_streams': streamsMax,
    ...(maxAgeMs > 0 && { 'grpc.max_connection_age_ms': maxAgeMs, 'grpc.max_connection_age_grace_ms': maxAgeGraceMs }),
    ...(keepaliveTimeMs > 0 && { 'grpc.keepalive_time_ms': keepaliveTimeMs, 'grpc.keepalive_timeout_ms': keepaliveTimeoutMs }),
  };
}
