/** The answer to a request or a step of a reservation, in virtual time. */

import { BadRequestError, UnavailableError } from '../../../lib/errors';
import type { DecidedRequest } from '../../../domain/respond/decided/decided-request';
import type { ReservationRecord } from '../../../domain/decide/reservation';
import { UnknownReservationError } from '../../../state/reservation/reservations';
import type { VirtualService, VirtualStep } from '../../offline/virtual-service';
import type { StepExpectation, TestRequest } from './test-file';

export interface Answer extends StepExpectation {
  /** `OK`, `OVER_LIMIT`, or the status of gRPC. */
  readonly code: string;
  /** Of an error. */
  readonly message?: string;
  /** Absent: nothing was decided. */
  readonly decided?: DecidedRequest;
}

/** The answer at a time in microseconds since 1970. */
export async function answerAt(service: VirtualService, { request, step }: TestRequest, atUs: number): Promise<Answer> {
  try {
    if (step !== undefined) return ofStep(await service.step(step, request, atUs));
    const { decision, decided } = await service.ask(request, atUs);
    return { code: decision.overallCode, decided: { ...decided, decision } };
  } catch (error) {
    return { code: errorCodeOf(error), message: (error as Error).message };
  }
}

/** @throws the error, if it is a fault of Weir */
function errorCodeOf(error: unknown): string {
  if (error instanceof BadRequestError) return 'INVALID_ARGUMENT';
  if (error instanceof UnknownReservationError) return 'NOT_FOUND';
  if (error instanceof UnavailableError) return 'UNAVAILABLE';
  throw error;
}

function ofStep(made: VirtualStep): Answer {
  if (made.kind === 'stepped') return { code: 'OK', ...factsOf(made.answer.record), repeated: !made.answer.isChanged };
  const { answer, decided } = made;
  const { decision, granted, known } = answer;
  const facts = known === undefined ? { granted, ...(decision.overallCode === 'OK' && { state: 'held' as const }) } : factsOf(known);
  return { code: decision.overallCode, ...facts, repeated: known !== undefined, ...(decided && { decided: { ...decided, decision } }) };
}

function factsOf(record: Pick<ReservationRecord, 'state' | 'granted' | 'cut' | 'isLate' | 'isUnknown'>): StepExpectation {
  const { state, granted, cut, isLate, isUnknown } = record;
  return { state, granted, cut, late: isLate, unknown: isUnknown };
}
