/** The route /check, for proxies that ask over HTTP whether a request may pass: 200, or the status of a denial. */

import type { IncomingMessage } from 'node:http';
import type { Decision } from '../../../domain/decide/decision';
import type { ByteString } from '../../../domain/descriptor/descriptor';
import type { DecideOptions } from '../../../should-rate-limit';
import { answerOne, type AnswerCalls, type FailureKind } from '../answer';
import { failureReply } from './failure-reply';
import type { HttpReply } from './http-server';
import { UNKNOWN_DOMAIN_WARNING } from './unknown-domain';
import { compileCheck, type CheckPlan } from './check/check-request';

export const CHECK_PATH = '/check';

export const CHECK_OUTCOMES = ['allowed', 'denied', 'bad_request', 'unavailable', 'fault'] as const satisfies readonly (
  'allowed' | 'denied' | FailureKind
)[];

export type CheckOutcome = (typeof CHECK_OUTCOMES)[number];

export interface CheckRouteOptions {
  readonly plan: CheckPlan;
  readonly answerCalls: AnswerCalls;
  readonly isConfigured: (domain: ByteString) => boolean;
  /** Called for each answer. */
  readonly onChecked: (outcome: CheckOutcome) => void;
}

/** Answers any method: a proxy may ask with that of its client. */
export function checkRoute({
  plan,
  answerCalls,
  isConfigured,
  onChecked,
}: CheckRouteOptions): (request: IncomingMessage, call: DecideOptions) => Promise<HttpReply> {
  const readCheck = compileCheck(plan);
  return async (request, call) => {
    // A body is not used; it is read and dropped, so that the connection can go on.
    request.resume();
    const { received, denyStatus } = readCheck(request.url ?? '', request.rawHeaders);
    const answer = await answerOne(answerCalls, received, call);
    if ('failure' in answer) {
      onChecked(answer.failure.kind);
      return failureReply(answer.failure);
    }
    const { decision } = answer;
    const isAllowed = decision.overallCode === 'OK';
    onChecked(isAllowed ? 'allowed' : 'denied');
    return replyTo(decision, { denyStatus, warning: isConfigured(plan.domain) ? {} : UNKNOWN_DOMAIN_WARNING });
  };
}

interface ReplyOptions {
  readonly denyStatus: number;
  /** Headers besides those of the decision. */
  readonly warning: Readonly<Record<string, string>>;
}

/** With the headers and the body that a client of Envoy would see, and those for its backend, which proxies take from the answer. */
function replyTo(
  { overallCode, headers = [], requestHeaders = [], body = '' }: Decision,
  { denyStatus, warning }: ReplyOptions,
): HttpReply {
  const all: Record<string, string> = {};
  let contentType = 'text/plain; charset=utf-8';
  for (const { name, value } of requestHeaders) all[name] = value;
  for (const { name, value } of headers) {
    if (name.toLowerCase() === 'content-type') contentType = value;
    else all[name] = value;
  }
  return { status: overallCode === 'OK' ? 200 : denyStatus, contentType, headers: Object.assign(all, warning), body };
}
