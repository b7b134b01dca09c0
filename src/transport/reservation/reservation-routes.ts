/** Reservations over HTTP: POST /v1/reservations, and /v1/reservations/ID:commit, :release and :extend, as protojson. */

import type { IncomingMessage } from 'node:http';
import { BadRequestError } from '../../errors';
import { readBody } from '../http-body';
import { pathOf, type HttpReply, type Route } from '../http-server';
import { codeWord, list, message, parseJson, readDescriptor, readText, readUint64, statusesJson, wrong, type Shape } from '../json';
import type { Read, ReservationCalls, StepFailure, StepFailureKind, StepResult } from './reservation-calls';
import { STEP_BYTES_MAX } from './reservation-grpc';
import { WIRE_STATES, type WireReserved, type WireSpan, type WireStep, type WireStepAnswer } from './reservation-messages';

export const RESERVATIONS_PATH = '/v1/reservations';

const HTTP_STATUS_OF: Readonly<Record<StepFailureKind, number>> = { bad_request: 400, not_found: 404, failed_precondition: 409, unavailable: 503, fault: 500 };

const STATE_WORDS = new Map<number, string>(Object.entries(WIRE_STATES).map(([state, code]) => [code, state.toUpperCase()]));

/** Seconds with up to nine digits behind the point. */
const SPAN = /^(\d{1,12})(?:\.(\d{1,9}))?s$/;

const readSpan = (json: unknown, path: string): WireSpan => {
  const [, seconds, fraction = ''] = (typeof json === 'string' ? SPAN.exec(json) : null) ?? [];
  if (seconds === undefined) throw wrong(path, 'a time in seconds, such as "60s"');
  return { seconds, nanos: Number(fraction.padEnd(9, '0')) };
};

const SHAPE: Shape<WireStep> = { domain: readText, descriptors: list(readDescriptor), id: readText, hits: readUint64, ttl: readSpan };

const readStep = message<WireStep>(SHAPE);

/** Routes by exact path, and of paths that begin with another. */
export function reservationRoutes(calls: ReservationCalls): { readonly exact: readonly [string, Route]; readonly below: readonly [string, Route] } {
  return {
    exact: [RESERVATIONS_PATH, (request) => answerReserve(request, calls)],
    below: [`${RESERVATIONS_PATH}/`, (request) => answerStep(request, calls)],
  };
}

async function answerReserve(request: IncomingMessage, calls: ReservationCalls): Promise<HttpReply> {
  const refused = refuseMethod(request);
  if (refused !== undefined) return refused;
  const read = await readStepOf(request, 'ReserveRequest');
  if ('reply' in read) return read.reply;
  const result = await calls.reserve(read.step, {});
  if ('failure' in result) return failureReply(result.failure);
  return jsonReply(result.message.code === 1 ? 200 : 429, reservedJson(result.message));
}

async function answerStep(request: IncomingMessage, calls: ReservationCalls): Promise<HttpReply> {
  const refused = refuseMethod(request);
  if (refused !== undefined) return refused;
  const name = pathOf(request.url ?? '').slice(RESERVATIONS_PATH.length + 1);
  const colon = name.lastIndexOf(':');
  const step = stepOf(name.slice(colon + 1), calls);
  if (colon < 1 || step === undefined) return failureReply({ kind: 'not_found', message: 'no such path; post to /v1/reservations/ID:commit, :release or :extend' });
  const read = await readStepOf(request, 'message of weir.v1.ReservationService');
  if ('reply' in read) return read.reply;
  const result = await step(read.step instanceof BadRequestError ? read.step : { ...read.step, id: name.slice(0, colon) });
  return 'failure' in result ? failureReply(result.failure) : jsonReply(200, stepJson(result.message));
}

function stepOf(word: string, calls: ReservationCalls): ((step: Read<WireStep>) => Promise<StepResult<WireStepAnswer>>) | undefined {
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
  return method === 'POST' ? undefined : jsonReply(405, { error: 'the method must be POST' });
}

async function readStepOf(request: IncomingMessage, name: string): Promise<{ readonly step: Read<WireStep> } | { readonly reply: HttpReply }> {
  const read = await readBody(request, { bytesMax: STEP_BYTES_MAX }).catch(() => undefined);
  if (read === undefined) return { reply: jsonReply(400, { error: 'the body ended early' }) };
  if (read.body === undefined) return { reply: jsonReply(413, { error: `the body is too large; send at most ${STEP_BYTES_MAX} bytes` }) };
  try {
    return { step: readStep(parseJson(read.body, name), '') };
  } catch (error) {
    if (error instanceof BadRequestError) return { step: error };
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

/** Defaults are left out, as protojson does; 64-bit numbers are digits. */
export function reservedJson(reserved: WireReserved): object {
  return {
    code: codeWord(reserved.code),
    id: orAbsent(reserved.id, ''),
    grantedHits: digits(reserved.granted_hits),
    expiresIn: spanText(reserved.expires_in),
    statuses: statusesJson(reserved),
    shareExhausted: orAbsent(reserved.share_exhausted, false),
    repeatedCall: orAbsent(reserved.repeated_call, false),
    degraded: orAbsent(reserved.degraded, false),
    state: STATE_WORDS.get(reserved.state),
  };
}

export function stepJson(step: WireStepAnswer): object {
  return {
    id: step.id,
    state: STATE_WORDS.get(step.state),
    grantedHits: digits(step.granted_hits),
    committedHits: digits(step.committed_hits),
    cutHits: digits(step.cut_hits),
    late: orAbsent(step.late, false),
    unknown: orAbsent(step.unknown, false),
    repeatedCall: orAbsent(step.repeated_call, false),
    degraded: orAbsent(step.degraded, false),
    expiresIn: spanText(step.expires_in),
  };
}

function orAbsent<T>(value: T, absent: T): T | undefined {
  return value === absent ? undefined : value;
}

/** Wire numbers may come as digits already. */
function digits(hits: number | string): string | undefined {
  return Number(hits) === 0 ? undefined : String(hits);
}

function spanText({ seconds = '0', nanos = 0 }: WireSpan): string | undefined {
  if (Number(seconds) === 0 && nanos === 0) return undefined;
  const fraction = nanos === 0 ? '' : `.${String(nanos).padStart(9, '0').replace(/0+$/, '')}`;
  return `${seconds}${fraction}s`;
}
