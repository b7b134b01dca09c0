/** Reservations over HTTP: POST /v1/reservations, and /v1/reservations/ID:commit, :release and :extend, as protojson. */

import type { IncomingMessage } from 'node:http';
import { BadRequestError } from '../../../lib/errors';
import type { Body, JsonBodies } from './http-body';
import { pathOf, type HttpReply, type Route } from './http-server';
import { list, message, parseJson, readDescriptor, readText, readUint64, wrong, type Shape } from '../messages/json';
import type { Read, ReservationCalls, StepFailure, StepFailureKind, StepResult } from '../reservation-calls';
import { STEP_BYTES_MAX } from '../grpc/reservation-grpc';
import { isGranted, reservedJson, stepJson, toWireReserved, toWireStepAnswer } from '../messages/reservation-answers';
import type { WireStep } from '../messages/reservation-messages';
import type { WireSpan } from '../messages/wire';
import type { StepAnswer } from '../../../state/reservation/reservation-service';

export const RESERVATIONS_PATH = '/v1/reservations';

const HTTP_STATUS_OF: Readonly<Record<StepFailureKind, number>> = {
  bad_request: 400,
  not_found: 404,
  failed_precondition: 409,
  unavailable: 503,
  fault: 500,
};

/** Seconds with up to nine decimals. */
const SPAN = /^(\d{1,12})(?:\.(\d{1,9}))?s$/;

const readSpan = (json: unknown, path: string): WireSpan => {
  const [, seconds, fraction = ''] = (typeof json === 'string' ? SPAN.exec(json) : null) ?? [];
  if (seconds === undefined) throw wrong(path, 'a duration in seconds, such as "60s"');
  return { seconds, nanos: Number(fraction.padEnd(9, '0')) };
};

const SHAPE: Shape<WireStep> = { domain: readText, descriptors: list(readDescriptor), id: readText, hits: readUint64, ttl: readSpan };

const readStep = message<WireStep>(SHAPE);

/** Returns routes by exact path, and by prefix. */
export function reservationRoutes(
  calls: ReservationCalls,
  bodies: JsonBodies,
): { readonly exact: readonly [string, Route]; readonly below: readonly [string, Route] } {
  return {
    exact: [RESERVATIONS_PATH, (request) => answerReserve(request, { calls, bodies })],
    below: [`${RESERVATIONS_PATH}/`, (request) => answerStep(request, { calls, bodies })],
  };
}

interface ReservationParts {
  readonly calls: ReservationCalls;
  readonly bodies: JsonBodies;
}

async function answerReserve(request: IncomingMessage, { calls, bodies }: ReservationParts): Promise<HttpReply> {
  const refused = refuseMethod(request);
  if (refused !== undefined) return refused;
  return withStep(request, { bodies, name: 'ReserveRequest' }, async (step) => {
    const result = await calls.reserve(step, {});
    if ('failure' in result) return failureReply(result.failure);
    return jsonReply(isGranted(result.message) ? 200 : 429, reservedJson(toWireReserved(result.message)));
  });
}

async function answerStep(request: IncomingMessage, { calls, bodies }: ReservationParts): Promise<HttpReply> {
  const refused = refuseMethod(request);
  if (refused !== undefined) return refused;
  const name = pathOf(request.url ?? '').slice(RESERVATIONS_PATH.length + 1);
  const colon = name.lastIndexOf(':');
  const take = stepOf(name.slice(colon + 1), calls);
  if (colon < 1 || take === undefined)
    return failureReply({ kind: 'not_found', message: 'no such path; post to /v1/reservations/ID:commit, :release or :extend' });
  return withStep(request, { bodies, name: 'message of weir.v1.ReservationService' }, async (step) => {
    const result = await take(step instanceof BadRequestError ? step : { ...step, id: decoded(name.slice(0, colon)) });
    return 'failure' in result ? failureReply(result.failure) : jsonReply(200, stepJson(toWireStepAnswer(result.message)));
  });
}

/** An id may have escapes. One that has no valid ones is taken as it is. */
function decoded(id: string): string {
  try {
    return decodeURIComponent(id);
  } catch {
    return id;
  }
}

function stepOf(word: string, calls: ReservationCalls): ((step: Read<WireStep>) => Promise<StepResult<StepAnswer>>) | undefined {
  switch (word) {
    case 'commit':
      return (step) => calls.commit(step, {});
    case 'release':
      return (step) => calls.release(step, {});
    case 'extend':
      return (step) => calls.extend(step, {});
    default:
      return undefined;
  }
}

function refuseMethod({ method }: IncomingMessage): HttpReply | undefined {
  return method === 'POST' ? undefined : { ...jsonReply(405, { error: 'the method must be POST' }), headers: { allow: 'POST' } };
}

interface StepOptions {
  readonly bodies: JsonBodies;
  /** The message that the body must be, for errors. */
  readonly name: string;
}

async function withStep(
  request: IncomingMessage,
  { bodies, name }: StepOptions,
  answer: (step: Read<WireStep>) => Promise<HttpReply>,
): Promise<HttpReply> {
  const read = await bodies.read(request, { bytesMax: STEP_BYTES_MAX }, async (body) => ({ reply: await answer(parsed(body, name)) }));
  return 'reply' in read ? read.reply : jsonReply(read.status, { error: read.message });
}

function parsed(body: Body, name: string): Read<WireStep> {
  if (body instanceof BadRequestError) return body;
  try {
    return readStep(parseJson(body, name), '');
  } catch (error) {
    if (error instanceof BadRequestError) return error;
    throw error;
  }
}

function failureReply({ kind, message: error }: StepFailure): HttpReply {
  const [field] = /^(?:domain|descriptors|hits|ttl|id)\b[\w.[\]]*/.exec(error) ?? [];
  return jsonReply(HTTP_STATUS_OF[kind], { error, ...(field !== undefined && { field }) });
}

function jsonReply(status: number, body: object): HttpReply {
  return { status, contentType: 'application/json', body: `${JSON.stringify(body)}\n` };
}
