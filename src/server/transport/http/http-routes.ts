/** The routes of the HTTP port: /json, /check, reservations and /healthcheck. */

import type { IncomingMessage } from 'node:http';
import { monotonicNowMs } from '../../../lib/clock';
import type { ByteString, RateLimitRequest } from '../../../domain/descriptor/descriptor';
import { BadRequestError } from '../../../lib/errors';
import type { Health } from '../../observability/health';
import type { CallTracer } from '../../observability/tracing/call-tracer';
import { readParent } from '../../observability/tracing/trace-context';
import type { DecideOptions } from '../../../should-rate-limit';
import { answerOne, type AnswerCalls } from '../answer';
import { CHECK_PATH, checkRoute, type CheckRouteOptions } from './check-route';
import { failureReply } from './failure-reply';
import { JsonBodies, type Body } from './http-body';
import { forMethods, textReply, type HttpReply, type HttpServerOptions, type Route } from './http-server';
import { parseRequest } from '../messages/json';
import { toRequest } from '../messages/request';
import type { ReservationCalls } from '../reservation-calls';
import { indexPage } from './index-page';
import { reservationRoutes } from './reservation-routes';
import { UNKNOWN_DOMAIN_WARNING } from './unknown-domain';
import { formatResponse, toWireResponse } from '../messages/response';

/** Maximum size of a body of /json. */
export const JSON_BODY_BYTES_MAX = 1024 * 1024;

/** Methods of probes: HAProxy sends OPTIONS by default. */
const PROBING = ['GET', 'HEAD', 'OPTIONS'] as const;

const READING = ['GET', 'HEAD'] as const;

export interface HttpRoutesOptions {
  readonly answerCalls: AnswerCalls;
  /** Absent: reservations are not served. */
  readonly reservationCalls?: ReservationCalls;
  readonly health: Health;
  /** Default: true. */
  readonly servesJson?: boolean;
  /** Whether /json accepts negative hits. Default: true. */
  readonly takesRefunds?: boolean;
  /** How /check makes descriptors of a request. Absent: /check is not served. */
  readonly check?: Pick<CheckRouteOptions, 'plan' | 'onChecked'>;
  /** Whether the domain is configured; absent: replies have no warning header. */
  readonly isConfigured?: (domain: ByteString) => boolean;
  /** Absent: tracing is off. */
  readonly tracer?: CallTracer | undefined;
  /** Called for each answer to a whole request, with the time that it took. */
  readonly onDecided?: OnDecided;
}

export type OnDecided = (via: 'json' | 'check', seconds: number) => void;

export function httpRoutes({
  answerCalls,
  reservationCalls,
  health,
  servesJson = true,
  takesRefunds = true,
  check,
  isConfigured = () => true,
  tracer,
  onDecided = () => undefined,
}: HttpRoutesOptions): Pick<HttpServerOptions, 'routes' | 'routesBelow'> {
  // All routes of the port share a budget.
  const bodies = new JsonBodies();
  const index = indexPage({ servesJson, servesCheck: check !== undefined, servesReservations: reservationCalls !== undefined });
  const routes = new Map<string, Route>([
    ['/', forMethods(READING, () => textReply(200, index))],
    ['/healthcheck', forMethods(PROBING, () => healthReply(health))],
  ]);
  if (servesJson) {
    const parts = { bodies, answerCalls: timed('json', answerCalls, onDecided), takesRefunds, isConfigured };
    routes.set(
      '/json',
      traced({ kind: 'json', tracer }, (request, call) => answerJson(request, parts, call)),
    );
  } else routes.set('/json', notServed('JSON_ENABLED is false, so /json is not served'));
  if (check === undefined) routes.set(CHECK_PATH, notServed('CHECK_DOMAIN is not set, so /check is not served'));
  else {
    const parts = { answerCalls: timed('check', answerCalls, onDecided), isConfigured, ...check };
    routes.set(CHECK_PATH, traced({ kind: 'check', tracer }, checkRoute(parts)));
  }
  if (reservationCalls === undefined) return { routes };
  const { exact, below } = reservationRoutes(reservationCalls, bodies);
  return { routes: routes.set(...exact), routesBelow: new Map([below]) };
}

/** A path that a setting turns on: without the name of the setting, a 404 looks like a wrong address. */
function notServed(why: string): Route {
  return (request) => {
    request.resume();
    return textReply(404, `not found: ${why}\n`);
  };
}

/** From the end of the body on: a slow client is not a slow decision. */
function timed(via: 'json' | 'check', answerCalls: AnswerCalls, onDecided: OnDecided): AnswerCalls {
  return async (received, call) => {
    const startedMs = monotonicNowMs();
    const answers = await answerCalls(received, call);
    onDecided(via, (monotonicNowMs() - startedMs) / 1_000);
    return answers;
  };
}

interface JsonParts {
  readonly bodies: JsonBodies;
  readonly answerCalls: AnswerCalls;
  readonly takesRefunds: boolean;
  readonly isConfigured: (domain: ByteString) => boolean;
}

/** Passes the trace of a call on to the decision, and ends it with the reply. */
function traced(
  { kind, tracer }: { readonly kind: 'json' | 'check'; readonly tracer: CallTracer | undefined },
  answer: (request: IncomingMessage, call: DecideOptions) => Promise<HttpReply>,
): Route {
  if (tracer === undefined) return (request) => answer(request, {});
  return async (request) => {
    const parent = readParent((name) => [request.headers[name]].flat()[0]);
    const trace = tracer.begin({ kind, startedMs: monotonicNowMs(), parent });
    const reply = await answer(request, trace === undefined ? {} : { traces: [trace.request] });
    trace?.end(reply.status);
    return reply;
  };
}

async function answerJson(
  request: IncomingMessage,
  { bodies, answerCalls, takesRefunds, isConfigured }: JsonParts,
  call: DecideOptions,
): Promise<HttpReply> {
  const read = await bodies.read(request, { bytesMax: JSON_BODY_BYTES_MAX }, async (body): Promise<{ readonly reply: HttpReply }> => {
    const received = parsed(body);
    if (!takesRefunds && isRefund(received))
      return {
        reply: textReply(403, 'negative hits are not accepted on this port (JSON_REFUNDS_ENABLED is false); send them over gRPC\n'),
      };
    const answer = await answerOne(answerCalls, received, call);
    if ('failure' in answer) return { reply: failureReply(answer.failure) };
    const { decision } = answer;
    const status = decision.overallCode === 'OK' ? 200 : 429;
    const isUnknown = 'domain' in received && !isConfigured(received.domain);
    return {
      reply: {
        status,
        contentType: 'application/json',
        ...(isUnknown && { headers: UNKNOWN_DOMAIN_WARNING }),
        body: formatResponse(toWireResponse(decision)),
      },
    };
  });
  return 'reply' in read ? read.reply : textReply(read.status, `${read.message}\n`);
}

/** Invalid bodies take the same path as other invalid requests, which answers and counts them. */
function parsed(body: Body): RateLimitRequest | BadRequestError {
  if (body instanceof BadRequestError) return body;
  try {
    return toRequest(parseRequest(body));
  } catch (error) {
    if (error instanceof BadRequestError) return error;
    throw error;
  }
}

function isRefund(received: RateLimitRequest | BadRequestError): boolean {
  return !(received instanceof BadRequestError) && received.descriptors.some(({ hits = 0 }) => hits < 0);
}

function healthReply(health: Health): HttpReply {
  const { status, degradations } = health;
  if (status === 'NOT_SERVING') return textReply(500, ['NOT_SERVING', ...degradations].map((line) => `${line}\n`).join(''));
  return textReply(200, degradations.length === 0 ? 'OK' : `${['OK', ...degradations].join('\n')}\n`);
}
