/** The gRPC services of reservations, Weir's own and that of Kuadrant's proxy plugin, as grpc-js serves them. */

import { status, type MethodDefinition, type sendUnaryData, type Server, type ServerUnaryCall, type ServiceDefinition, type UntypedHandleCall } from '@grpc/grpc-js';
import type { RateLimitRequest } from '../../descriptor/descriptor';
import type { Decision } from '../../engine/decision';
import { BadRequestError } from '../../errors';
import type { TakeOptions } from '../../store/store';
import { decodeRequest } from '../codec/decode-request';
import { encodeResponse } from '../codec/encode-response';
import { callOptionsOf } from '../grpc-call-options';
import { STATUS_OF } from '../grpc-status';
import type { Proto } from '../proto';
import { toRequest } from '../request';
import type { WireDescriptor } from '../wire';
import type { Read, ReservationCalls, StepFailureKind, StepResult } from './reservation-calls';
import type { WireSpan, WireStep } from './reservation-messages';

/** Bytes of one message: it names few descriptors. */
export const STEP_BYTES_MAX = 1024 * 1024;

const STEP_STATUS_OF: Readonly<Record<StepFailureKind, status>> = {
  bad_request: status.INVALID_ARGUMENT,
  not_found: status.NOT_FOUND,
  failed_precondition: status.FAILED_PRECONDITION,
  unavailable: status.UNAVAILABLE,
  fault: status.INTERNAL,
};

type Step = (wire: Read<WireStep>, call: TakeOptions) => Promise<StepResult<object>>;

export function addReservationServices(server: Server, proto: Pick<Proto, 'reservations' | 'kuadrant'>, calls: ReservationCalls): void {
  const steps: Readonly<Record<string, Step>> = {
    Reserve: (wire, call) => calls.reserve(wire, call),
    Commit: (wire, call) => calls.commit(wire, call),
    Release: (wire, call) => calls.release(wire, call),
    Extend: (wire, call) => calls.extend(wire, call),
  };
  server.addService(reading(proto.reservations, toWireStep), unary(steps));
  const { CheckRateLimit: check, Report: report, ...rest } = proto.kuadrant;
  if (check === undefined || report === undefined) throw new Error('proto/ has no method CheckRateLimit or Report');
  const decisions = { requestDeserialize: readRequest, responseSerialize: (decision: Decision) => Buffer.from(encodeResponse(decision)) };
  const kuadrant: ServiceDefinition = { ...reading(rest, toWireStep), CheckRateLimit: { ...check, ...decisions }, Report: { ...report, ...decisions } };
  server.addService(kuadrant, { ...unary(kuadrantSteps(calls)), ...kuadrantDecisions(calls) });
}

/** What it calls an amount and a reservation_id. */
function kuadrantSteps(calls: ReservationCalls): Readonly<Record<string, Step>> {
  return {
    Reserve: async (wire, call) => {
      const result = await calls.reserveOrCheck(withoutOwnHits(wire), call);
      if ('failure' in result) return result;
      const { code, id } = result.message;
      return { message: { code, reservation_id: id } };
    },
    Commit: async (wire, call) => {
      const asked = withoutOwnHits(wire);
      // Without an id there is nothing to settle: what was used is charged.
      if (!(asked instanceof BadRequestError) && (asked.id ?? '') === '') {
        const reported = Number(asked.hits ?? '0') === 0 ? { message: {} } : await calls.report(toReport(asked), call);
        return 'failure' in reported ? reported : { message: { reservation_released: false } };
      }
      const result = await calls.commit(asked, call);
      if ('failure' in result) return result;
      const { late, unknown, repeated_call: isRepeat } = result.message;
      return { message: { reservation_released: !late && !unknown && !isRepeat } };
    },
  };
}

function kuadrantDecisions(calls: ReservationCalls): Record<string, UntypedHandleCall> {
  return {
    CheckRateLimit: (call: ServerUnaryCall<Read<RateLimitRequest>, Decision>, answer: sendUnaryData<Decision>) => {
      void calls.check(call.request, callOptionsOf(call)).then((result) => {
        if ('decision' in result) answer(null, result.decision);
        else answer({ code: STATUS_OF[result.failure.kind], details: result.failure.message });
      });
    },
    Report: (call: ServerUnaryCall<Read<RateLimitRequest>, Decision>, answer: sendUnaryData<Decision>) => {
      void calls.report(call.request, callOptionsOf(call)).then((result) => {
        // It is charged whatever is left, and is no request that could be denied.
        if ('message' in result) answer(null, { ...result.message, overallCode: 'OK' });
        else answer({ code: STEP_STATUS_OF[result.failure.kind], details: result.failure.message });
      });
    },
  };
}

function unary(steps: Readonly<Record<string, Step>>): Record<string, UntypedHandleCall> {
  const handlers = Object.entries(steps).map(([name, step]) => {
    const handler = (call: ServerUnaryCall<Read<WireStep>, object>, answer: sendUnaryData<object>) => {
      void step(call.request, callOptionsOf(call)).then((result) => {
        if ('message' in result) answer(null, result.message);
        else answer({ code: STEP_STATUS_OF[result.failure.kind], details: result.failure.message });
      });
    };
    return [name, handler] as const;
  });
  return Object.fromEntries(handlers);
}

/** grpc-js would answer INTERNAL to what can't be read, as if the fault were ours: so reading never throws. */
function reading(service: ServiceDefinition, toMessage: (message: RawStep) => WireStep): ServiceDefinition {
  const methods = Object.entries(service).map(([name, method]: [string, MethodDefinition<unknown, unknown>]) => {
    const requestDeserialize = (bytes: Buffer): Read<WireStep> => {
      if (bytes.length > STEP_BYTES_MAX) return new BadRequestError(`the message has ${bytes.length} bytes; send at most ${STEP_BYTES_MAX}`);
      try {
        return toMessage(method.requestDeserialize(bytes) as RawStep);
      } catch {
        return new BadRequestError('the message is none of this service; check the .proto of the client');
      }
    };
    return [name, { ...method, requestDeserialize }] as const;
  });
  return Object.fromEntries(methods);
}

/** As protobufjs reads it: text as its bytes. */
interface RawStep {
  readonly domain?: Buffer;
  readonly descriptors?: readonly RawDescriptor[];
  readonly id?: string;
  readonly reservation_id?: string;
  readonly hits?: string;
  readonly amount?: string;
  readonly actual_amount?: string;
  readonly ttl?: WireSpan;
}

interface RawDescriptor extends Omit<WireDescriptor, 'entries'> {
  readonly entries?: readonly { readonly key?: Buffer; readonly value?: Buffer }[];
}

function toWireStep({ domain, descriptors = [], ttl, ...raw }: RawStep): WireStep {
  const id = raw.id ?? raw.reservation_id;
  const hits = raw.hits ?? raw.amount ?? raw.actual_amount;
  return {
    domain: domain?.toString('latin1') ?? '',
    descriptors: descriptors.map(toWireDescriptor),
    ...(id !== undefined && { id }),
    ...(hits !== undefined && { hits }),
    ...(ttl !== undefined && { ttl }),
  };
}

function toWireDescriptor({ entries = [], ...rest }: RawDescriptor): WireDescriptor {
  return { entries: entries.map(({ key, value }) => ({ key: key?.toString('latin1') ?? '', value: value?.toString('latin1') ?? '' })), ...rest };
}

/** The plugin's own service never read them. */
function withoutOwnHits(wire: Read<WireStep>): Read<WireStep> {
  if (wire instanceof BadRequestError) return wire;
  const descriptors = (wire.descriptors ?? []).map(({ entries = [], limit }) => (limit === undefined ? { entries } : { entries, limit }));
  return { ...wire, descriptors };
}

function toReport({ domain = '', descriptors = [], hits = '0' }: WireStep): Read<RateLimitRequest> {
  try {
    return toRequest({ domain, descriptors, hits_addend: Math.min(Number(hits), 2 ** 32) });
  } catch (error) {
    if (error instanceof BadRequestError) return error;
    throw error;
  }
}

function readRequest(bytes: Buffer): Read<RateLimitRequest> {
  const wire = decodeRequest(bytes.toString('latin1'));
  if (wire instanceof BadRequestError) return wire;
  try {
    return toRequest(wire);
  } catch (error) {
    if (error instanceof BadRequestError) return error;
    throw error;
  }
}
