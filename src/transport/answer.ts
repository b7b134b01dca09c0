/** The one way from a request to its answer: whatever happens in between, there is exactly one, and it is safe to send. */

import type { RateLimitRequest } from '../descriptor/descriptor';
import type { Decision } from '../engine/decision';
import { BadRequestError, UnavailableError } from '../errors';
import type { Decide } from '../should-rate-limit';
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

/** Never rejects. A BadRequestError in place of the request says why there is none. */
export type AnswerCall = (request: RateLimitRequest | BadRequestError, call: TakeOptions) => Promise<Answer>;

export interface AnswerOptions {
  readonly decide: Decide;
  readonly log: FaultLog;
  /** Called once for each answer that is a failure. */
  readonly onFailure: (kind: FailureKind) => void;
}

export function makeAnswerCall({ decide, log, onFailure }: AnswerOptions): AnswerCall {
  const fail = (error: unknown): Answer => {
    const failure = toFailure(error);
    if (failure.kind === 'fault') log.error({ err: error }, 'a rate limit request failed');
    onFailure(failure.kind);
    return { failure };
  };
  // Not async, which would cost each call a promise more.
  return (request, call) => {
    try {
      if (request instanceof BadRequestError) throw request;
      return decide(request, call).then(toAnswer, fail);
    } catch (error) {
      return Promise.resolve(fail(error));
    }
  };
}

function toAnswer(decision: Decision): Answer {
  return { decision };
}

function toFailure(error: unknown): Failure {
  if (error instanceof BadRequestError) return { kind: 'bad_request', message: error.message };
  if (error instanceof UnavailableError) return { kind: 'unavailable', message: error.message };
  return { kind: 'fault', message: 'internal error; see the log of the rate limit service' };
}
