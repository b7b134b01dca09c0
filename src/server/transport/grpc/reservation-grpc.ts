/** The gRPC services of reservations: weir.v1, and kuadrant.service.ratelimit.v1 for Kuadrant's proxy plugin. */

import { HITS_MAX, type RateLimitRequest } from '../../../domain/descriptor/descriptor';
import type { Decision } from '../../../domain/decide/decision';
import { BadRequestError } from '../../../lib/errors';
import { TTL_MS_MAX } from '../../../state/reservation/reservation-service';
import type { TakeOptions } from '../../../state/store/port/store';
import { decodeStep, type StepFields } from '../messages/decode-request';
import {
  encodeKuadrantCommitted,
  encodeKuadrantReserved,
  encodeReserved,
  encodeStepAnswer,
  hasReleased,
} from '../messages/reservation-answers';
import { encodeResponse } from '../messages/response';
import type { MethodAnswer, UnaryMethod } from './grpc-method';
import { GRPC_MESSAGE_BYTES_MAX, status, STATUS_OF, type Status } from './grpc-status';
import { toRequest } from '../messages/request';
import { toRequestOrError } from '../messages/request-cache';
import type { Read, ReservationCalls, StepFailureKind, StepResult } from '../reservation-calls';
import type { WireStep } from '../messages/reservation-messages';
import type { WireSpan } from '../messages/wire';
import { MS_PER_S } from '../../../lib/time-units';

/** Maximum size of a step's message: a step has few descriptors. */
export const STEP_BYTES_MAX = 1024 * 1024;

/** Field numbers from proto/. */
const RESERVE_FIELDS: StepFields = { hits: 3, ttl: 4, id: 5 };
const COMMIT_FIELDS: StepFields = { id: 3, hits: 4 };
const RELEASE_FIELDS: StepFields = { id: 3 };
const EXTEND_FIELDS: StepFields = { id: 3, ttl: 4 };
const KUADRANT_RESERVE_FIELDS: StepFields = { hits: 3, ttl: 4 };
const KUADRANT_COMMIT_FIELDS: StepFields = { id: 3, hits: 4 };

const STEP_STATUS_OF: Readonly<Record<StepFailureKind, Status>> = {
  bad_request: status.INVALID_ARGUMENT,
  not_found: status.NOT_FOUND,
  failed_precondition: status.FAILED_PRECONDITION,
  unavailable: status.UNAVAILABLE,
  fault: status.INTERNAL,
};

const SERVICE = '/weir.v1.ReservationService';
const KUADRANT_SERVICE = '/kuadrant.service.ratelimit.v1.RateLimitService';

type Step<Answer> = (wire: Read<WireStep>, call: TakeOptions) => Promise<StepResult<Answer>>;

export function reservationMethods(calls: ReservationCalls): UnaryMethod[] {
  return [
    stepMethod({
      path: `${SERVICE}/Reserve`,
      fields: RESERVE_FIELDS,
      encode: encodeReserved,
      step: (wire, call) => calls.reserve(wire, call),
    }),
    stepMethod({
      path: `${SERVICE}/Commit`,
      fields: COMMIT_FIELDS,
      encode: encodeStepAnswer,
      step: (wire, call) => calls.commit(wire, call),
    }),
    stepMethod({
      path: `${SERVICE}/Release`,
      fields: RELEASE_FIELDS,
      encode: encodeStepAnswer,
      step: (wire, call) => calls.release(wire, call),
    }),
    stepMethod({
      path: `${SERVICE}/Extend`,
      fields: EXTEND_FIELDS,
      encode: encodeStepAnswer,
      step: (wire, call) => calls.extend(wire, call),
    }),
    stepMethod({
      path: `${KUADRANT_SERVICE}/Reserve`,
      fields: KUADRANT_RESERVE_FIELDS,
      encode: encodeKuadrantReserved,
      step: (wire, call) => calls.reserveOrCheck(withValidTerm(withoutOwnHits(wire)), call),
    }),
    stepMethod({
      path: `${KUADRANT_SERVICE}/Commit`,
      fields: KUADRANT_COMMIT_FIELDS,
      encode: encodeKuadrantCommitted,
      step: (wire, call) => commitAsKuadrant(calls, wire, call),
    }),
    decisionMethod(`${KUADRANT_SERVICE}/CheckRateLimit`, async (request, call) => {
      const result = await calls.check(request, call);
      return 'decision' in result
        ? toAnswer(result.decision)
        : { error: { code: STATUS_OF[result.failure.kind], details: result.failure.message } };
    }),
    decisionMethod(`${KUADRANT_SERVICE}/Report`, async (request, call) => {
      const result = await calls.report(request, call);
      // A report is charged in full and never denied.
      return 'message' in result ? toAnswer({ ...result.message, overallCode: 'OK' }) : toError(result);
    }),
  ];
}

interface StepMethod<Answer> {
  readonly path: string;
  readonly fields: StepFields;
  readonly encode: (answer: Answer) => Buffer;
  readonly step: Step<Answer>;
}

function stepMethod<Answer>({ path, fields, encode, step }: StepMethod<Answer>): UnaryMethod {
  return {
    kind: 'unary',
    path,
    bytesMax: GRPC_MESSAGE_BYTES_MAX,
    answer: async (message, call) => {
      const result = await step(readStep(message, fields), call);
      return 'message' in result ? { message: encode(result.message) } : toError(result);
    },
  };
}

function decisionMethod(path: string, answer: (request: Read<RateLimitRequest>, call: TakeOptions) => Promise<MethodAnswer>): UnaryMethod {
  return {
    kind: 'unary',
    path,
    bytesMax: GRPC_MESSAGE_BYTES_MAX,
    answer: async (message, call) => answer(toRequestOrError(message.toString('latin1')), call),
  };
}

function toError({ failure }: { readonly failure: { readonly kind: StepFailureKind; readonly message: string } }): MethodAnswer {
  return { error: { code: STEP_STATUS_OF[failure.kind], details: failure.message } };
}

function toAnswer(decision: Decision): MethodAnswer {
  // A copy, because a transport may keep the message, and the encoder reuses its buffer.
  return { message: Buffer.from(encodeResponse(decision)) };
}

/** Whether the commit has released a reservation. */
async function commitAsKuadrant(calls: ReservationCalls, wire: Read<WireStep>, call: TakeOptions): Promise<StepResult<boolean>> {
  const step = withoutOwnHits(wire);
  // A call without an id has no reservation: its used hits are charged as a report.
  if (!(step instanceof BadRequestError) && (step.id ?? '') === '') {
    const reported = Number(step.hits ?? '0') === 0 ? { message: {} } : await calls.report(toReport(step), call);
    return 'failure' in reported ? reported : { message: false };
  }
  const result = await calls.commit(step, call);
  return 'failure' in result ? result : { message: hasReleased(result.message) };
}

function readStep(bytes: Buffer, fields: StepFields): Read<WireStep> {
  if (bytes.length > STEP_BYTES_MAX) return new BadRequestError(`the message has ${bytes.length} bytes; send at most ${STEP_BYTES_MAX}`);
  return decodeStep(bytes.toString('latin1'), fields);
}

/** Kuadrant's service ignores the hits of single descriptors. */
function withoutOwnHits(wire: Read<WireStep>): Read<WireStep> {
  if (wire instanceof BadRequestError) return wire;
  const descriptors = (wire.descriptors ?? []).map(({ entries = [], limit }) => (limit === undefined ? { entries } : { entries, limit }));
  return { ...wire, descriptors };
}

function withValidTerm(wire: Read<WireStep>): Read<WireStep> {
  return wire instanceof BadRequestError || wire.ttl === undefined ? wire : { ...wire, ttl: clampedTerm(wire.ttl) };
}

/** The plugin sends the timeout of the route, which may be longer than the longest term, or 0 for none. limitador clamps it as well. */
function clampedTerm(term: WireSpan): WireSpan {
  const seconds = Number(term.seconds ?? '0');
  const isNone = seconds === 0 && (term.nanos ?? 0) === 0;
  return isNone || seconds * MS_PER_S >= TTL_MS_MAX ? { seconds: String(TTL_MS_MAX / MS_PER_S) } : term;
}

function toReport({ domain = '', descriptors = [], hits = '0' }: WireStep): Read<RateLimitRequest> {
  try {
    return toRequest({ domain, descriptors, hits_addend: Math.min(Number(hits), HITS_MAX) });
  } catch (error) {
    if (error instanceof BadRequestError) return error;
    throw error;
  }
}
