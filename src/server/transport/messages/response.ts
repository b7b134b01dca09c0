/**
 * The response: its fields, and how each is read from a decision. Protobuf, /json and the plain objects of tests come from
 * this description, and reservations answer with the same statuses.
 */

import { shownRemaining, toSecondsUp, type Code, type Decision, type DescriptorStatus, type Header } from '../../../domain/decide/decision';
import { FALLBACK_METADATA } from '../../../domain/respond/response-additions';
import { UINT32_MAX, type Limit } from '../../../domain/rule/limit';
import type { JsonObject } from '../../../domain/rule/rule';
import {
  BYTES,
  DURATION,
  fieldsOf,
  nested,
  STRUCT,
  TEXT,
  toJson,
  UINT32,
  words,
  WRAPPED,
  type Field,
  type FieldSink,
} from './message-fields';
import { toWire } from './object-sink';
import { encode } from './protobuf-sink';
import {
  CODE_WORDS,
  UNIT_WORDS,
  WIRE_UNITS,
  type WireCode,
  type WireHeader,
  type WireLimit,
  type WireResponse,
  type WireSpan,
  type WireStatus,
  type WireUint32,
} from './wire';

const LIMIT = fieldsOf<WireLimit>({
  requests_per_unit: [1, UINT32],
  unit: [2, words(UNIT_WORDS)],
  name: [3, TEXT],
  unit_multiplier: [4, WRAPPED],
});

const STATUS = fieldsOf<WireStatus>({
  code: [1, words(CODE_WORDS)],
  current_limit: [2, nested(LIMIT)],
  limit_remaining: [3, UINT32],
  duration_until_reset: [4, DURATION],
});

const HEADER = fieldsOf<WireHeader>({ key: [1, TEXT], value: [2, TEXT] });

const RESPONSE = fieldsOf<WireResponse>({
  overall_code: [1, words(CODE_WORDS)],
  statuses: [2, [nested(STATUS)]],
  response_headers_to_add: [3, [nested(HEADER)]],
  request_headers_to_add: [4, [nested(HEADER)]],
  raw_body: [5, BYTES],
  dynamic_metadata: [6, STRUCT],
});

/** google.protobuf.Duration and UInt32Value. */
export const SPAN = fieldsOf<WireSpan>({ seconds: [1, String], nanos: [2, UINT32] });
const WRAPPER = fieldsOf<WireUint32>({ value: [1, UINT32] });

export const STATUS_JSON = nested(STATUS);

export const WIRE_CODES: Readonly<Record<Code, WireCode>> = { OK: 1, OVER_LIMIT: 2 };

export function describeResponse(out: FieldSink, decision: Decision): void {
  const { overallCode, statuses, headers, requestHeaders, body } = decision;
  out.number(RESPONSE.overall_code, WIRE_CODES[overallCode]);
  for (const status of statuses) describeStatus(out, RESPONSE.statuses, status);
  if (headers !== undefined) for (const header of headers) describeHeader(out, RESPONSE.response_headers_to_add, header);
  if (requestHeaders !== undefined) for (const header of requestHeaders) describeHeader(out, RESPONSE.request_headers_to_add, header);
  if (body !== undefined) out.utf8(RESPONSE.raw_body, body);
  const metadata = metadataOf(decision);
  if (metadata !== undefined) out.struct(RESPONSE.dynamic_metadata, metadata);
}

/** One item of `field`. */
export function describeStatus(out: FieldSink, field: Field, status: DescriptorStatus): void {
  const { code, currentLimit, durationUntilResetUs } = status;
  const start = out.begin(field);
  out.number(STATUS.code, WIRE_CODES[code]);
  if (currentLimit !== undefined) describeLimit(out, currentLimit);
  out.number(STATUS.limit_remaining, toWireRemaining(status));
  if (durationUntilResetUs !== undefined) {
    const durationStart = out.begin(STATUS.duration_until_reset);
    out.number(SPAN.seconds, toSecondsUp(durationUntilResetUs));
    out.end(durationStart);
  }
  out.end(start);
}

function describeLimit(out: FieldSink, { requestsPerUnit, unit, name, unitMultiplier }: Limit): void {
  const start = out.begin(STATUS.current_limit);
  out.number(LIMIT.requests_per_unit, Math.min(requestsPerUnit, UINT32_MAX));
  if (unit !== 'total') out.number(LIMIT.unit, WIRE_UNITS[unit]);
  if (name !== '') out.text(LIMIT.name, name);
  if (unitMultiplier !== 1) {
    const multiplierStart = out.begin(LIMIT.unit_multiplier);
    out.number(WRAPPER.value, unitMultiplier);
    out.end(multiplierStart);
  }
  out.end(start);
}

function describeHeader(out: FieldSink, field: Field, { name, value }: Header): void {
  const start = out.begin(field);
  out.text(HEADER.key, name);
  out.text(HEADER.value, value);
  out.end(start);
}

function toWireRemaining(status: DescriptorStatus): number {
  return Math.min(Math.max(shownRemaining(status), 0), UINT32_MAX);
}

/** Adds for Envoy's access log whether the answer was decided without the store. */
function metadataOf({ metadata, fallback }: Decision): JsonObject | undefined {
  return metadata ?? (fallback === true ? FALLBACK_METADATA : undefined);
}

/** The result is valid until the next message is encoded. */
export function encodeResponse(decision: Decision): Buffer {
  return encode(describeResponse, decision);
}

/** As a gRPC client gets it. */
export function toWireResponse(decision: Decision): WireResponse {
  return { overall_code: WIRE_CODES[decision.overallCode], statuses: [], ...toWire<Decision, WireResponse>(describeResponse, decision) };
}

/** One line of JSON. */
export function formatResponse(response: WireResponse): string {
  return JSON.stringify(toJson(RESPONSE, response));
}
