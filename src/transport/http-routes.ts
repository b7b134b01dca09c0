/** What the HTTP port serves: /json, the rate limit service for those without gRPC, reservations, and /healthcheck. */

import type { IncomingMessage } from 'node:http';
import type { RateLimitRequest } from '../descriptor/descriptor';
import { BadRequestError } from '../errors';
import type { Health } from '../observability/health';
import { answerOne, type AnswerCalls, type FailureKind } from './answer';
import { readBody } from './http-body';
import { textReply, type HttpReply, type HttpServerOptions, type Route } from './http-server';
import { formatResponse, parseRequest } from './json';
import { toRequest } from './request';
import type { ReservationCalls } from './reservation/reservation-calls';
import { reservationRoutes } from './reservation/reservation-routes';
import { toWireResponse } from './response';

/** Bytes of a body of /json. */
export const JSON_BODY_BYTES_MAX = 1024 * 1024;

const STATUS_OF: Readonly<Record<FailureKind, number>> = { bad_request: 400, unavailable: 503, fault: 500 };

export interface HttpRoutesOptions {
  readonly answerCalls: AnswerCalls;
  /** Absent: reservations are not served. */
  readonly reservationCalls?: ReservationCalls;
  readonly health: Health;
}

export function httpRoutes({ answerCalls, reservationCalls, health }: HttpRoutesOptions): Pick<HttpServerOptions, 'routes' | 'routesBelow'> {
  const routes = new Map<string, Route>([
    ['/json', (request) => answerJson(request, answerCalls)],
    ['/healthcheck', () => healthReply(health)],
  ]);
  if (reservationCalls === undefined) return { routes };
  const { exact, below } = reservationRoutes(reservationCalls);
  return { routes: routes.set(...exact), routesBelow: new Map([below]) };
}

async function answerJson(request: IncomingMessage, answerCalls: AnswerCalls): Promise<HttpReply> {
  const read = await readBody(request, { bytesMax: JSON_BODY_BYTES_MAX }).catch(() => undefined);
  if (read === undefined) return textReply(400, 'the body ended early\n');
  if (read.body === undefined) return textReply(413, `the body is too large; send at most ${JSON_BODY_BYTES_MAX} bytes\n`);
  const answer = await answerOne(answerCalls, parsed(read.body), {});
  if ('failure' in answer) return textReply(STATUS_OF[answer.failure.kind], `${answer.failure.message}\n`);
  const { decision } = answer;
  const status = decision.overallCode === 'OK' ? 200 : 429;
  return { status, contentType: 'application/json', body: formatResponse(toWireResponse(decision)) };
}

/** An unreadable body is answered, and counted, where every other bad request is. */
function parsed(body: Buffer): RateLimitRequest | BadRequestError {
  try {
    return toRequest(parseRequest(body));
  } catch (error) {
    if (error instanceof BadRequestError) return error;
    throw error;
  }
}

function healthReply(health: Health): HttpReply {
  const { status, degradations } = health;
  if (status === 'NOT_SERVING') return textReply(500, ['NOT_SERVING', ...degradations].map((line) => `${line}\n`).join(''));
  return textReply(200, degradations.length === 0 ? 'OK' : `${['OK', ...degradations].join('\n')}\n`);
}
