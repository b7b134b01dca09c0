/** The answers to the steps of a reservation: their fields, and how each is read from the outcome of a step. */

import type { ReservationState } from '../../../domain/decide/reservation';
import type { ReserveAnswer, StepAnswer } from '../../../state/reservation/reservation-service';
import {
  DURATION,
  fieldsOf,
  FLAG,
  TEXT,
  toJson,
  UINT64,
  words,
  type Describe,
  type Field,
  type FieldSink,
  type JsonForm,
} from './message-fields';
import { toWire } from './object-sink';
import { encode } from './protobuf-sink';
import { describeStatus, SPAN, STATUS_JSON, WIRE_CODES } from './response';
import { CODE_WORDS, type KuadrantCommitted, type KuadrantReserved, type WireReserved, type WireSpan, type WireStepAnswer } from './wire';
import { NS_PER_US, US_PER_S } from '../../../lib/time-units';

/** Values of `State`. */
const WIRE_STATES: Readonly<Record<ReservationState, number>> = { held: 1, committed: 2, released: 3, lapsed: 4 };

const STATE = words(new Map(Object.entries(WIRE_STATES).map(([state, number]) => [number, state.toUpperCase()])));

/** Every answer has this duration, so 0 is omitted like the default of a number. */
const EXPIRES_IN: JsonForm<WireSpan> = (span) => (Number(span.seconds ?? 0) === 0 && (span.nanos ?? 0) === 0 ? undefined : DURATION(span));

const RESERVED = fieldsOf<WireReserved>({
  code: [1, words(CODE_WORDS)],
  id: [2, TEXT],
  granted_hits: [3, UINT64],
  expires_in: [4, EXPIRES_IN],
  statuses: [5, [STATUS_JSON]],
  share_exhausted: [6, FLAG],
  repeated_call: [7, FLAG],
  degraded: [8, FLAG],
  state: [9, STATE],
});

const STEP = fieldsOf<WireStepAnswer>({
  id: [1, TEXT],
  state: [2, STATE],
  granted_hits: [3, UINT64],
  committed_hits: [4, UINT64],
  cut_hits: [5, UINT64],
  late: [6, FLAG],
  unknown: [7, FLAG],
  repeated_call: [8, FLAG],
  degraded: [9, FLAG],
  expires_in: [10, EXPIRES_IN],
});

const KUADRANT_RESERVED = fieldsOf<KuadrantReserved>({ code: [1, words(CODE_WORDS)], reservation_id: [2, TEXT] });
const KUADRANT_COMMITTED = fieldsOf<KuadrantCommitted>({ reservation_released: [1, FLAG] });

export function isGranted({ decision, isShareExhausted }: ReserveAnswer): boolean {
  return !isShareExhausted && decision.overallCode === 'OK';
}

/** Whether this step has released what the reservation held. */
export function hasReleased({ record, isChanged }: StepAnswer): boolean {
  return !record.isLate && !record.isUnknown && isChanged;
}

const describeReserved: Describe<ReserveAnswer> = (out, answer) => {
  const { decision, id, granted, expiresInUs, isShareExhausted, known, isDegraded } = answer;
  out.number(RESERVED.code, codeOf(answer));
  out.text(RESERVED.id, id);
  out.number(RESERVED.granted_hits, granted);
  describeSpan(out, RESERVED.expires_in, expiresInUs);
  for (const status of decision.statuses) describeStatus(out, RESERVED.statuses, status);
  out.flag(RESERVED.share_exhausted, isShareExhausted);
  out.flag(RESERVED.repeated_call, known !== undefined);
  out.flag(RESERVED.degraded, isDegraded);
  out.number(RESERVED.state, isGranted(answer) ? WIRE_STATES[known?.state ?? 'held'] : 0);
};

const describeStep: Describe<StepAnswer> = (out, { id, record, expiresInUs, isChanged, isDegraded }) => {
  out.text(STEP.id, id);
  out.number(STEP.state, WIRE_STATES[record.state]);
  out.number(STEP.granted_hits, record.granted);
  out.number(STEP.committed_hits, record.actual);
  out.number(STEP.cut_hits, record.cut);
  out.flag(STEP.late, record.isLate);
  out.flag(STEP.unknown, record.isUnknown);
  out.flag(STEP.repeated_call, !isChanged);
  out.flag(STEP.degraded, isDegraded);
  describeSpan(out, STEP.expires_in, expiresInUs);
};

const describeKuadrantReserved: Describe<ReserveAnswer> = (out, answer) => {
  out.number(KUADRANT_RESERVED.code, codeOf(answer));
  out.text(KUADRANT_RESERVED.reservation_id, answer.id);
};

const describeKuadrantCommitted: Describe<boolean> = (out, isReleased) => {
  out.flag(KUADRANT_COMMITTED.reservation_released, isReleased);
};

function codeOf(answer: ReserveAnswer): number {
  return isGranted(answer) ? WIRE_CODES.OK : WIRE_CODES.OVER_LIMIT;
}

function describeSpan(out: FieldSink, field: Field, durationUs: number): void {
  const start = out.begin(field);
  out.number(SPAN.seconds, Math.floor(durationUs / US_PER_S));
  out.number(SPAN.nanos, (durationUs % US_PER_S) * NS_PER_US);
  out.end(start);
}

/** Each encoder returns a copy that the caller may keep. */
export function encodeReserved(answer: ReserveAnswer): Buffer {
  return Buffer.from(encode(describeReserved, answer));
}

export function encodeStepAnswer(answer: StepAnswer): Buffer {
  return Buffer.from(encode(describeStep, answer));
}

export function encodeKuadrantReserved(answer: ReserveAnswer): Buffer {
  return Buffer.from(encode(describeKuadrantReserved, answer));
}

export function encodeKuadrantCommitted(isReleased: boolean): Buffer {
  return Buffer.from(encode(describeKuadrantCommitted, isReleased));
}

/** As a gRPC client gets it. */
export function toWireReserved(answer: ReserveAnswer): Partial<WireReserved> {
  return toWire(describeReserved, answer);
}

export function toWireStepAnswer(answer: StepAnswer): Partial<WireStepAnswer> {
  return toWire(describeStep, answer);
}

/** In protojson. */
export function reservedJson(reserved: Partial<WireReserved>): object {
  return toJson(RESERVED, reserved);
}

export function stepJson(step: Partial<WireStepAnswer>): object {
  return toJson(STEP, step);
}
