/** Turns reservation steps of every port into answers: whatever happens in between, the answer is safe to send. */

import { monotonicNowMs } from '../../lib/clock';
import type { Decision } from '../../domain/decide/decision';
import { asError, BadRequestError, UnavailableError } from '../../lib/errors';
import type { ReservationService, ReserveAnswer, StepAnswer } from '../../state/reservation/reservation-service';
import { PartsError, UnknownReservationError } from '../../state/reservation/reservations';
import type { RateLimitRequest } from '../../domain/descriptor/descriptor';
import type { TakeOptions } from '../../state/store/port/store';
import { answerOne, type Answer, type AnswerCalls, type FailureKind, type FaultLog } from './answer';
import { toCommitAsk, toExtendAsk, toReserveAsk, toStepAsk, type WireStep } from './messages/reservation-messages';

export type StepFailureKind = 'bad_request' | 'not_found' | 'failed_precondition' | 'unavailable' | 'fault';

/** `message` is for the caller; that of an internal error does not describe the error. */
export interface StepFailure {
  readonly kind: StepFailureKind;
  readonly message: string;
}

export type StepResult<Message> = { readonly message: Message } | { readonly failure: StepFailure };

/** A decoded message, or why it is invalid. */
export type Read<Message> = Message | BadRequestError;

export interface ReservationCallsOptions {
  readonly service: ReservationService;
  readonly answerCalls: AnswerCalls;
  readonly log: FaultLog;
  /** Called for each answer that grants, denies or charges hits, with the time that it took. */
  readonly onDecided?: (seconds: number) => void;
  /** Called for each of these that is a failure. */
  readonly onFailure?: (kind: FailureKind) => void;
}

/** Never rejects. */
export class ReservationCalls {
  constructor(private readonly options: ReservationCallsOptions) {}

  reserve(wire: Read<WireStep>, call: TakeOptions): Promise<StepResult<ReserveAnswer>> {
    return this.decide(wire, (step) => this.options.service.reserve(toReserveAsk(step), call));
  }

  commit(wire: Read<WireStep>, call: TakeOptions): Promise<StepResult<StepAnswer>> {
    return this.step(wire, (step) => this.options.service.commit(toCommitAsk(step), call));
  }

  release(wire: Read<WireStep>, call: TakeOptions): Promise<StepResult<StepAnswer>> {
    return this.step(wire, (step) => this.options.service.release(toStepAsk(step), call));
  }

  extend(wire: Read<WireStep>, call: TakeOptions): Promise<StepResult<StepAnswer>> {
    return this.step(wire, (step) => this.options.service.extend(toExtendAsk(step), call));
  }

  /** Same as `reserve`, but 0 hits are a check. */
  reserveOrCheck(wire: Read<WireStep>, call: TakeOptions): Promise<StepResult<ReserveAnswer>> {
    return this.decide(wire, (step) => {
      if (step.hits !== undefined && step.hits !== '0') return this.options.service.reserve(toReserveAsk(step), call);
      const ask = toReserveAsk({ ...step, hits: '1' });
      return this.options.service.reserve({ ...ask, hits: 0 }, call);
    });
  }

  /** Charges hits in full, even beyond the limit. */
  report(request: Read<Pick<RateLimitRequest, 'domain' | 'descriptors' | 'hits'>>, call: TakeOptions): Promise<StepResult<Decision>> {
    return this.decide(request, ({ domain, descriptors, hits }) => this.options.service.report({ domain, descriptors }, hits, call));
  }

  /** Whether each descriptor has a hit left. */
  check(request: Read<RateLimitRequest>, call: TakeOptions): Promise<Answer> {
    return this.timed(() => answerOne(this.options.answerCalls, toCheck(request), call));
  }

  /** A step that decides: the others settle what was decided. */
  private async decide<Step extends object, Message>(
    step: Read<Step>,
    make: (step: Step) => Promise<Message>,
  ): Promise<StepResult<Message>> {
    const result = await this.timed(() => this.step(step, make));
    const kind = 'failure' in result ? result.failure.kind : undefined;
    if (kind === 'bad_request' || kind === 'unavailable' || kind === 'fault') this.options.onFailure?.(kind);
    return result;
  }

  private async timed<Result>(make: () => Promise<Result>): Promise<Result> {
    const startedMs = monotonicNowMs();
    const result = await make();
    this.options.onDecided?.((monotonicNowMs() - startedMs) / 1_000);
    return result;
  }

  private async step<Step extends object, Message>(step: Read<Step>, make: (step: Step) => Promise<Message>): Promise<StepResult<Message>> {
    try {
      if (step instanceof BadRequestError) throw step;
      return { message: await make(step) };
    } catch (error) {
      const failure = toStepFailure(error);
      if (failure.kind === 'fault') this.options.log.error({ err: asError(error) }, 'a step of a reservation failed');
      return { failure };
    }
  }
}

/** Asks with 0 hits. */
function toCheck(request: Read<RateLimitRequest>): Read<RateLimitRequest> {
  if (request instanceof BadRequestError) return request;
  const descriptors = request.descriptors.map((descriptor) => ({ ...descriptor, hits: 0 }));
  return { domain: request.domain, descriptors, hits: request.hits };
}

function toStepFailure(error: unknown): StepFailure {
  if (error instanceof BadRequestError) return { kind: 'bad_request', message: error.message };
  if (error instanceof UnknownReservationError) return { kind: 'not_found', message: error.message };
  if (error instanceof PartsError) return { kind: 'failed_precondition', message: error.message };
  if (error instanceof UnavailableError) return { kind: 'unavailable', message: error.message };
  return { kind: 'fault', message: 'internal error; see the log of the rate limit service' };
}
