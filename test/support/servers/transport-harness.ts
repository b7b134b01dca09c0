/** A gRPC server, by either transport, with a fake decision behind it, and a client for it, for the tests of the transport. */

import { Client, credentials, type ChannelCredentials, type ChannelOptions, type ServiceError } from '@grpc/grpc-js';
import type { RateLimitRequest } from '../../../src/domain/descriptor/descriptor';
import type { Decision } from '../../../src/domain/decide/decision';
import { Health } from '../../../src/server/observability/health';
import type { TakeOptions } from '../../../src/state/store/port/store';
import { makeAnswerCalls, type FailureKind } from '../../../src/server/transport/answer';
import type { EndReason } from '../../../src/server/transport/port/connection-measure';
import type { GrpcAddress } from '../../../src/server/transport/port/grpc-listener';
import { GrpcServer } from '../../../src/server/transport/grpc/grpc-server';
import { LeanServer, type LeanServerOptions } from '../../../src/server/transport/http2/lean-server';
import { loadProto } from '../../../src/server/transport/messages/proto';
import type { WireRequest, WireResponse } from '../../../src/server/transport/messages/wire';

export const proto = loadProto();

/** Answers every descriptor OK. */
export function allow(request: RateLimitRequest): Decision {
  return { overallCode: 'OK', statuses: request.descriptors.map(() => ({ code: 'OK', limitRemaining: 0, fits: true, denies: false })) };
}

export const TRANSPORTS = ['grpc-js', 'lean'] as const;

export type Transport = (typeof TRANSPORTS)[number];

/** How the port is set up; by default as without any setting. */
import { each, type DecideOne } from '../decisions/decide-one';

export interface HarnessOptions extends Partial<Pick<LeanServerOptions, 'tls' | 'rules' | 'bounds' | 'nowMs'>> {
  readonly address?: GrpcAddress;
}

export interface HarnessClientOptions {
  readonly credentials?: ChannelCredentials;
  readonly target?: string;
  readonly channel?: ChannelOptions;
}

export class Harness {
  readonly requests: RateLimitRequest[] = [];
  readonly calls: TakeOptions[] = [];
  readonly faults: unknown[] = [];
  readonly failures: FailureKind[] = [];
  readonly health = new Health();
  readonly observed: { grpcMethod: string; seconds: number }[] = [];
  /** What the next requests are answered by. */
  decide: DecideOne = (request) => Promise.resolve(allow(request));
  readonly log = { error: ({ err }: { err: unknown }): unknown => this.faults.push(err) };
  readonly answerCalls = makeAnswerCalls({
    decide: each((request, call) => {
      this.requests.push(request);
      this.calls.push(call);
      return this.decide(request, call);
    }),
    log: this.log,
    onFailure: (kind) => this.failures.push(kind),
  });
  /** What was told of connections. */
  readonly connections = { open: 0, ended: [] as { reason: EndReason; details: string }[], refused: 0 };
  readonly server: GrpcServer | LeanServer;
  port = 0;
  private readonly clients: Client[] = [];

  constructor(transport: Transport, options: Omit<HarnessOptions, 'address'> = {}) {
    const { answerCalls, health, log, connections } = this;
    const calls = { answerCalls, health, onCall: (call: Harness['observed'][number]) => this.observed.push(call) };
    const measure = {
      onOpen: () => (connections.open += 1),
      onClose: () => (connections.open -= 1),
      onEnd: (reason: EndReason, details: string) => connections.ended.push({ reason, details }),
      onStreamRefused: () => (connections.refused += 1),
    };
    this.server =
      transport === 'grpc-js'
        ? new GrpcServer({ ...calls, ...options, measure })
        : new LeanServer({ ...calls, ...options, measure, log, onFailure: (kind) => this.failures.push(kind) });
  }

  static async start(
    transport: Transport,
    { address = { host: '127.0.0.1', port: 0 }, ...options }: HarnessOptions = {},
  ): Promise<Harness> {
    const harness = new Harness(transport, options);
    harness.health.serve();
    ({ port: harness.port } = await harness.server.start(address));
    return harness;
  }

  client({
    credentials: shown = credentials.createInsecure(),
    target = `127.0.0.1:${this.port}`,
    channel = {},
  }: HarnessClientOptions = {}): Client {
    // With TLS a server is asked for by name: an address is none.
    const client = new Client(target, shown, {
      'grpc.use_local_subchannel_pool': 1,
      'grpc.ssl_target_name_override': 'localhost',
      ...channel,
    });
    this.clients.push(client);
    return client;
  }

  async stop({ timeoutMs } = { timeoutMs: 0 }): Promise<void> {
    for (const client of this.clients) client.close();
    await this.server.drain({ timeoutMs });
  }

  ask(request: WireRequest, options: AskOptions = {}): Promise<WireResponse> {
    return this.askBytes(proto.rateLimit.ShouldRateLimit.requestSerialize(request), options);
  }

  askBytes(bytes: Buffer, { client = this.client(), ...options }: AskOptions = {}): Promise<WireResponse> {
    const { path, responseDeserialize } = proto.rateLimit.ShouldRateLimit;
    return unary({ client, path, request: bytes, serialize: (raw: Buffer) => raw, deserialize: responseDeserialize, options });
  }
}

interface AskOptions {
  readonly deadline?: number;
  /** Else one of its own. */
  readonly client?: Client;
}

export interface Deferred {
  promise: Promise<void>;
  resolve: () => void;
}

/** A promise that is resolved from outside. */
export function deferred(): Deferred {
  let resolve: () => void = () => undefined;
  const promise = new Promise<void>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}

export interface UnaryOptions<Request, Response> {
  client: Client;
  path: string;
  request: Request;
  serialize: (request: Request) => Buffer;
  deserialize: (bytes: Buffer) => Response;
  options?: { deadline?: number };
}

export function unary<Request, Response>({
  client,
  path,
  request,
  serialize,
  deserialize,
  options = {},
}: UnaryOptions<Request, Response>): Promise<Response> {
  return new Promise((resolve, reject) => {
    client.makeUnaryRequest(path, serialize, deserialize, request, options, (error: ServiceError | null, response?: Response) => {
      if (error === null) resolve(response!);
      else reject(error);
    });
  });
}

/** A length-delimited field of the wire format, for messages that no encoder would write. */
export function lengthDelimited(field: number, bytes: Buffer): Buffer {
  expect(bytes.length).toBeLessThan(128);
  return Buffer.concat([Buffer.from([(field << 3) | 2, bytes.length]), bytes]);
}
