/** The one way from requests to their answers: whatever happens in between, each has exactly one, and it is safe to send. */

import type { RateLimitRequest } from '../descriptor/descriptor';
import type { Decision } from '../engine/decision';
import { asError, BadRequestError, UnavailableError } from '../errors';
import type { Decide, Outcome } from '../should-rate-limit';
import type { TakeOptions } from '../store/store';

/** Where a fault is told to the operator. */
export interface FaultLog {
  error(details: { readonly err: unknown }, message: string): void;
}

export type FailureKind = 'bad_request' | 'unavailable' | 'fault';

/** `message` is written for the caller; that of a fault says nothing about what happened. */
export interface Failure {
  readonly kind: FailureKind;
  readonly message: string;
}

export type Answer = { readonly decision: Decision } | { readonly failure: Failure };

const FAULT: Failure = { kind: 'fault', message: 'internal error; see the log of the rate limit service' };

/** Of a call that was given none. */
export const NO_ANSWER: Answer = { failure: FAULT };

/** A BadRequestError in place of a request says why there is none. */
export type Asked = RateLimitRequest | BadRequestError;

/** Answers calls that came together, each by itself, in their order. Never rejects. */
export type AnswerCalls = (asked: readonly Asked[], call: TakeOptions) => Promise<readonly Answer[]>;

export interface AnswerOptions {
  readonly decide: Decide;
  readonly log: FaultLog;
  /** Called once for each answer that is a failure. */
  readonly onFailure: (kind: FailureKind) => void;
}

export function makeAnswerCalls({ decide, log, onFailure }: AnswerOptions): AnswerCalls {
  const fail = (error: unknown): Answer => {
    const failure = toFailure(error);
    if (failure.kind === 'fault') log.error({ err: error }, 'a rate limit request failed');
    onFailure(failure.kind);
    return { failure };
  };
  const toAnswers = (asked: readonly Asked[], outcomes: readonly Outcome[]): Answer[] => {
    let next = -1;
    return asked.map((each) => {
      if (!isRequest(each)) return fail(each);
      next += 1;
      const outcome = outcomes[next];
      return outcome === undefined || outcome instanceof Error ? fail(outcome) : { decision: outcome };
    });
  };
  // Not async, which would cost each call a promise more.
  return (asked, call) => {
    const requests = asked.filter(isRequest);
    if (requests.length === 0) return Promise.resolve(toAnswers(asked, []));
    return decide(requests, call).then(
      (outcomes) => toAnswers(asked, outcomes),
      (error: unknown) => {
        const failed = asError(error);
        return toAnswers(asked, requests.map(() => failed));
      },
    );
  };
}

/** Answers a call that comes alone. */
export async function answerOne(answerCalls: AnswerCalls, asked: Asked, call: TakeOptions): Promise<Answer> {
  const [answer = NO_ANSWER] = await answerCalls([asked], call);
  return answer;
}

function isRequest(asked: Asked): asked is RateLimitRequest {
  return !(asked instanceof BadRequestError);
}

function toFailure(error: unknown): Failure {
  if (error instanceof BadRequestError) return { kind: 'bad_request', message: error.message };
  if (error instanceof UnavailableError) return { kind: 'unavailable', message: error.message };
  return FAULT;
}
