/** The gRPC port: the rate limit service, health and reflection, served by grpc-js. */

import type { Socket } from 'node:net';
import { Server, ServerCredentials, type ConnectionInjector, type sendUnaryData, type ServerUnaryCall } from '@grpc/grpc-js';
import { ReflectionService } from '@grpc/reflection';
import type { RateLimitRequest } from '../descriptor/descriptor';
import type { Decision } from '../engine/decision';
import type { BadRequestError } from '../errors';
import type { Health } from '../observability/health';
import type { TakeOptions } from '../store/store';
import type { AnswerCall } from './answer';
import { encodeResponse } from './codec/encode-response';
import { GrpcHealth } from './grpc-health';
import { GRPC_MESSAGE_BYTES_MAX, STATUS_OF } from './grpc-status';
import { KnownRequests } from './known-requests';
import { loadProto } from './proto';

type RateLimitCall = ServerUnaryCall<RateLimitRequest | BadRequestError, Decision>;

export interface GrpcServerOptions {
  readonly answerCall: AnswerCall;
  readonly health: Health;
  /** Called once for each ShouldRateLimit call, with the time from its arrival to its answer. */
  readonly onCall: (call: { readonly grpcMethod: 'ShouldRateLimit'; readonly seconds: number }) => void;
}

export class GrpcServer {
  private readonly server = new Server({ 'grpc.max_receive_message_length': GRPC_MESSAGE_BYTES_MAX });
  private readonly requests = new KnownRequests();
  private readonly grpcHealth: GrpcHealth;
  private injector: ConnectionInjector | undefined;

  constructor(private readonly options: GrpcServerOptions) {
    const proto = loadProto();
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
    this.server.addService(proto.health, this.grpcHealth.handlers);
    new ReflectionService(proto.reflection).addToServer(this.server);
  }

  /** Listens; port 0 takes a free one. Rejects if the address can't be bound. */
  start({ host, port }: { readonly host: string; readonly port: number }): Promise<{ port: number }> {
    const address = host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
    return new Promise((resolve, reject) => {
      this.server.bindAsync(address, ServerCredentials.createInsecure(), (error, boundPort) => {
        if (error === null) resolve({ port: boundPort });
        else reject(error);
      });
    });
  }

  /** Serves a connection that was not made on a port of this server's. */
  readonly inject = (socket: Socket): void => {
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
    await new Promise<void>((resolve) => {
      const timer = setTimeout(() => {
        this.server.forceShutdown();
        resolve();
      }, timeoutMs);
      this.server.tryShutdown(() => {
        clearTimeout(timer);
        resolve();
      });
    });
  }

  private async shouldRateLimit(call: RateLimitCall, answer: sendUnaryData<Decision>): Promise<void> {
    const startedMs = performance.now();
    const result = await this.options.answerCall(call.request, optionsOf(call));
    if ('decision' in result) answer(null, result.decision);
    else answer({ code: STATUS_OF[result.failure.kind], details: result.failure.message });
    this.options.onCall({ grpcMethod: 'ShouldRateLimit', seconds: (performance.now() - startedMs) / 1000 });
  }
}

function optionsOf(call: RateLimitCall): TakeOptions {
  const deadline = call.getDeadline();
  const timeoutMs = Math.max(0, Number(deadline) - Date.now());
  return Number.isFinite(timeoutMs) ? { timeoutMs } : {};
}
