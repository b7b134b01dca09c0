/** Turns requests into answers: whatever happens in between, each request gets exactly one answer, which is safe to send. */

import type { RateLimitRequest } from '../../domain/descriptor/descriptor';
import type { Decision } from '../../domain/decide/decision';
import { asError, BadRequestError, UnavailableError } from '../../lib/errors';
import type { Decide, DecideOptions, Outcome } from '../../should-rate-limit';

/** Logs internal errors. */
export interface FaultLog {
  error(details: { readonly err: unknown }, message: string): void;
}

export type FailureKind = 'bad_request' | 'unavailable' | 'fault';

/** `message` is for the caller; that of an internal error does not describe the error. */
export interface Failure {
  readonly kind: FailureKind;
  readonly message: string;
}

export type Answer = { readonly decision: Decision } | { readonly failure: Failure };

const FAULT: Failure = { kind: 'fault', message: 'internal error; see the log of the rate limit service' };

/** The answer of a call that would otherwise have none. */
export const NO_ANSWER: Answer = { failure: FAULT };

/** A request, or a BadRequestError that says why the message is invalid. */
export type ReadRequest = RateLimitRequest | BadRequestError;

/** Answers calls that arrived together, each by itself and in their order. Never rejects. */
export type AnswerCalls = (received: readonly ReadRequest[], call: DecideOptions) => Promise<readonly Answer[]>;

export interface AnswerOptions {
  readonly decide: Decide;
  readonly log: FaultLog;
  /** Called for each answer that is a failure. */
  readonly onFailure: (kind: FailureKind) => void;
}

export function makeAnswerCalls({ decide, log, onFailure }: AnswerOptions): AnswerCalls {
  const fail = (error: unknown): Answer => {
    const failure = toFailure(error);
    if (failure.kind === 'fault') log.error({ err: error }, 'a rate limit request failed');
    onFailure(failure.kind);
    return { failure };
  };
  const toAnswers = (received: readonly ReadRequest[], outcomes: readonly Outcome[]): Answer[] => {
    let next = -1;
    return received.map((each) => {
      if (!isRequest(each)) return fail(each);
      next += 1;
      const outcome = outcomes[next];
      return outcome === undefined || outcome instanceof Error ? fail(outcome) : { decision: outcome };
    });
  };
  // Not async, because that would cost each call one more promise.
  return (received, call) => {
    const requests = received.filter(isRequest);
    if (requests.length === 0) return Promise.resolve(toAnswers(received, []));
    return decide(requests, requests.length === received.length ? call : withoutInvalid(call, received)).then(
      (outcomes) => toAnswers(received, outcomes),
      (error: unknown) => {
        const failed = asError(error);
        return toAnswers(
          received,
          requests.map(() => failed),
        );
      },
    );
  };
}

/** Answers a single call. */
export async function answerOne(answerCalls: AnswerCalls, received: ReadRequest, call: DecideOptions): Promise<Answer> {
  const [answer = NO_ANSWER] = await answerCalls([received], call);
  return answer;
}

/** Aligns the traces of a call with those of its messages that are requests. */
function withoutInvalid(call: DecideOptions, received: readonly ReadRequest[]): DecideOptions {
  const { timeoutMs, traces } = call;
  if (traces === undefined) return call;
  const ofRequests = received.flatMap((each, i) => (isRequest(each) ? [traces[i]] : []));
  return timeoutMs === undefined ? { traces: ofRequests } : { timeoutMs, traces: ofRequests };
}

function isRequest(received: ReadRequest): received is RateLimitRequest {
  return !(received instanceof BadRequestError);
}

function toFailure(error: unknown): Failure {
  if (error instanceof BadRequestError) return { kind: 'bad_request', message: error.message };
  if (error instanceof UnavailableError) return { kind: 'unavailable', message: error.message };
  return FAULT;
}
