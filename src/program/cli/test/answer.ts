/** The answer to a request or a step of a reservation, in virtual time. */

import { BadRequestError, UnavailableError } from '../../../lib/errors';
import type { Descriptor } from '../../../domain/descriptor/descriptor';
import { toRequest } from '../../../server/transport/messages/request';
import { WIRE_UNITS, type WireDescriptor } from '../../../server/transport/messages/wire';
import type { DecidedRequest } from '../../../domain/respond/decided/decided-request';
import type { ReservationRecord } from '../../../domain/decide/reservation';
import { UnknownReservationError } from '../../../state/reservation/reservations';
import type { VirtualService, VirtualStep } from '../../offline/virtual-service';
import type { StepExpectation, TestRequest } from './file/test-file';

export interface Answer extends StepExpectation {
  /** `OK`, `OVER_LIMIT`, or the status of gRPC. */
  readonly code: string;
  /** The message of an error. */
  readonly message?: string;
  /** Absent: nothing was decided. */
  readonly decided?: DecidedRequest;
}

/** The error that every server answers, whatever its configuration; undefined: it decides the request. */
export function refusalOf({ request: { domain, descriptors, hits }, step }: TestRequest): Answer | undefined {
  // A step without descriptors is one of a reservation that the id alone names.
  if (step !== undefined && descriptors.length === 0) return undefined;
  try {
    toRequest({ domain, hits_addend: hits, descriptors: descriptors.map(toWire) });
    return undefined;
  } catch (error) {
    return { code: errorCodeOf(error), message: (error as Error).message };
  }
}

function toWire({ entries, override, hits }: Descriptor): WireDescriptor {
  const limit = override && {
    requests_per_unit: override.requestsPerUnit,
    unit: WIRE_UNITS[override.unit],
    unit_multiplier: { value: override.unitMultiplier },
  };
  const own = hits !== undefined && { hits_addend: { value: String(Math.abs(hits)) }, is_negative_hits: hits < 0 };
  return { entries, ...(limit && { limit }), ...own };
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
