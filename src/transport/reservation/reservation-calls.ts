/** The one way from a step of a reservation to its answer, whichever port it came by: whatever happens in between, it is safe to send. */

import type { Decision } from '../../engine/decision';
import { asError, BadRequestError, UnavailableError } from '../../errors';
import type { ReservationService } from '../../reservation/reservation-service';
import { PartsError, UnknownReservationError } from '../../reservation/reservations';
import type { RateLimitRequest } from '../../descriptor/descriptor';
import type { TakeOptions } from '../../store/store';
import { answerOne, type Answer, type AnswerCalls, type FaultLog } from '../answer';
import { toCommitAsk, toExtendAsk, toReserveAsk, toStepAsk, toWireReserved, toWireStepAnswer, type WireReserved, type WireStep, type WireStepAnswer } from './reservation-messages';

export type StepFailureKind = 'bad_request' | 'not_found' | 'failed_precondition' | 'unavailable' | 'fault';

/** `message` is written for the caller; that of a fault says nothing about what happened. */
export interface StepFailure {
  readonly kind: StepFailureKind;
  readonly message: string;
}

export type StepResult<Message> = { readonly message: Message } | { readonly failure: StepFailure };

/** What reads a message answers this in place of it if it can't be read. */
export type Read<Message> = Message | BadRequestError;

export interface ReservationCallsOptions {
  readonly service: ReservationService;
  readonly answerCalls: AnswerCalls;
  readonly log: FaultLog;
}

/** Never rejects. */
export class ReservationCalls {
  constructor(private readonly options: ReservationCallsOptions) {}

  reserve(wire: Read<WireStep>, call: TakeOptions): Promise<StepResult<WireReserved>> {
    return this.step(wire, async (step) => toWireReserved(await this.options.service.reserve(toReserveAsk(step), call)));
  }

  commit(wire: Read<WireStep>, call: TakeOptions): Promise<StepResult<WireStepAnswer>> {
    return this.step(wire, async (step) => toWireStepAnswer(await this.options.service.commit(toCommitAsk(step), call)));
  }

  release(wire: Read<WireStep>, call: TakeOptions): Promise<StepResult<WireStepAnswer>> {
    return this.step(wire, async (step) => toWireStepAnswer(await this.options.service.release(toStepAsk(step), call)));
  }

  extend(wire: Read<WireStep>, call: TakeOptions): Promise<StepResult<WireStepAnswer>> {
    return this.step(wire, async (step) => toWireStepAnswer(await this.options.service.extend(toExtendAsk(step), call)));
  }

  /** As `reserve`, where 0 hits only look whether one is left. */
  reserveOrCheck(wire: Read<WireStep>, call: TakeOptions): Promise<StepResult<WireReserved>> {
    return this.step(wire, async (step) => {
      if (step.hits !== undefined && step.hits !== '0') return toWireReserved(await this.options.service.reserve(toReserveAsk(step), call));
      const ask = toReserveAsk({ ...step, hits: '1' });
      return toWireReserved(await this.options.service.reserve({ ...ask, hits: 0 }, call));
    });
  }

  /** Charges hits in full, whatever is left. */
  report(request: Read<Pick<RateLimitRequest, 'domain' | 'descriptors' | 'hits'>>, call: TakeOptions): Promise<StepResult<Decision>> {
    return this.step(request, ({ domain, descriptors, hits }) => this.options.service.report({ domain, descriptors }, hits, call));
  }

  /** Whether each descriptor has a hit left. */
  check(request: Read<RateLimitRequest>, call: TakeOptions): Promise<Answer> {
    if (request instanceof BadRequestError) return answerOne(this.options.answerCalls, request, call);
    const descriptors = request.descriptors.map((descriptor) => ({ ...descriptor, hits: 0 }));
    return answerOne(this.options.answerCalls, { domain: request.domain, descriptors, hits: request.hits }, call);
  }

  private async step<Asked extends object, Message>(asked: Read<Asked>, make: (asked: Asked) => Promise<Message>): Promise<StepResult<Message>> {
    try {
      if (asked instanceof BadRequestError) throw asked;
      return { message: await make(asked) };
    } catch (error) {
      const failure = toStepFailure(error);
      if (failure.kind === 'fault') this.options.log.error({ err: asError(error) }, 'a step of a reservation failed');
      return { failure };
    }
  }
}

function toStepFailure(error: unknown): StepFailure {
  if (error instanceof BadRequestError) return { kind: 'bad_request', message: error.message };
  if (error instanceof UnknownReservationError) return { kind: 'not_found', message: error.message };
  if (error instanceof PartsError) return { kind: 'failed_precondition', message: error.message };
  if (error instanceof UnavailableError) return { kind: 'unavailable', message: error.message };
  return { kind: 'fault', message: 'internal error; see the log of the rate limit service' };
}
