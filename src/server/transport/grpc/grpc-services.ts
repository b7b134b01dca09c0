/** The services of the gRPC port, for both transports. */

import { monotonicNowMs } from '../../../lib/clock';
import { answerOne, type AnswerCalls } from '../answer';
import { encodeResponse } from '../messages/response';
import { GrpcHealth } from './grpc-health';
import type { GrpcMethod, UnaryMethod } from './grpc-method';
import { reflectionMethods } from './grpc-reflection';
import { GRPC_MESSAGE_BYTES_MAX, status, STATUS_OF } from './grpc-status';
import { SHOULD_RATE_LIMIT_PATH } from '../http2/connection/request-head';
import { RequestCache } from '../messages/request-cache';
import type { CallTracer } from '../../observability/tracing/call-tracer';
import type { Health } from '../../observability/health';
import type { ReservationCalls } from '../reservation-calls';
import { reservationMethods } from './reservation-grpc';

export interface GrpcServicesOptions {
  readonly answerCalls: AnswerCalls;
  /** Undefined: reservations are not served. */
  readonly reservationCalls?: ReservationCalls | undefined;
  readonly health: Health;
  /** Called for each ShouldRateLimit call, with the time from its arrival to its answer. */
  readonly onCall: (call: { readonly grpcMethod: 'ShouldRateLimit'; readonly seconds: number }) => void;
  /** The cache of ShouldRateLimit requests. */
  readonly requests?: RequestCache;
  /** Undefined: tracing is off. */
  readonly tracer?: CallTracer | undefined;
}

export interface GrpcServices {
  /** By path. */
  readonly methods: ReadonlyMap<string, GrpcMethod>;
  /** Ends watches, so that a drain does not wait for streams that never end. */
  readonly endWatches: () => void;
}

/** Reads proto/descriptors.json synchronously; call it only at the start. */
export function makeGrpcServices(options: GrpcServicesOptions): GrpcServices {
  const health = new GrpcHealth(options.health);
  const methods: readonly GrpcMethod[] = [
    shouldRateLimit(options),
    ...(options.reservationCalls === undefined ? [] : reservationMethods(options.reservationCalls)),
    ...health.methods,
    ...reflectionMethods(),
  ];
  return {
    methods: new Map(methods.map((method) => [method.path, method])),
    endWatches: () => {
      health.endWatches();
    },
  };
}

/** Serves all calls of grpc-js, and the unusual ones of the lean transport. */
function shouldRateLimit({ answerCalls, onCall, tracer, requests = new RequestCache() }: GrpcServicesOptions): UnaryMethod {
  return {
    kind: 'unary',
    path: SHOULD_RATE_LIMIT_PATH,
    bytesMax: GRPC_MESSAGE_BYTES_MAX,
    answer: async (message, { timeoutMs, parent }) => {
      const startedMs = monotonicNowMs();
      const trace = tracer?.begin({ kind: 'grpc', startedMs, parent: parent() });
      const call = timeoutMs === undefined ? {} : { timeoutMs };
      const result = await answerOne(
        answerCalls,
        requests.read(message),
        trace === undefined ? call : { traces: [trace.request], ...call },
      );
      trace?.end('failure' in result ? STATUS_OF[result.failure.kind] : status.OK);
      onCall({ grpcMethod: 'ShouldRateLimit', seconds: (monotonicNowMs() - startedMs) / 1000 });
      if ('failure' in result) return { error: { code: STATUS_OF[result.failure.kind], details: result.failure.message } };
      // A copy, because a transport may keep the message, and the encoder reuses its buffer.
      return { message: Buffer.from(encodeResponse(result.decision)) };
    },
  };
}
