/** From a decision to the wire's response: codes, units and roundings, and the message as plain objects for /json. */

import { toSecondsUp, type Code, type Decision, type DescriptorStatus, type Header } from '../engine/decision';
import { FALLBACK_METADATA } from '../respond/additions';
import { UINT32_MAX, type Limit } from '../rule/limit';
import type { JsonObject, JsonValue } from '../rule/rule';
import { WIRE_UNITS, type WireCode, type WireHeader, type WireLimit, type WireResponse, type WireStatus, type WireStruct, type WireValue } from './wire';

export const WIRE_CODES: Readonly<Record<Code, WireCode>> = { OK: 1, OVER_LIMIT: 2 };

export function toWireResponse(decision: Decision): WireResponse {
  const metadata = metadataOf(decision);
  return {
    overall_code: WIRE_CODES[decision.overallCode],
    statuses: decision.statuses.map(toWireStatus),
    ...(decision.headers && { response_headers_to_add: decision.headers.map(toWireHeader) }),
    ...(metadata && { dynamic_metadata: toWireStruct(metadata) }),
  };
}

/** For Envoy's access log it is always said that an answer was decided without the store. */
export function metadataOf({ metadata, fallback }: Decision): JsonObject | undefined {
  return metadata ?? (fallback === true ? FALLBACK_METADATA : undefined);
}

function toWireHeader({ name, value }: Header): WireHeader {
  return { key: name, value };
}

function toWireStruct(json: JsonObject): WireStruct {
  return { fields: Object.fromEntries(Object.entries(json).map(([name, value]) => [name, toWireValue(value)])) };
}

function toWireValue(json: JsonValue): WireValue {
  if (json === null) return { nullValue: 0 };
  if (typeof json === 'string') return { stringValue: json };
  if (typeof json === 'number') return { numberValue: json };
  if (typeof json === 'boolean') return { boolValue: json };
  return isList(json) ? { listValue: { values: json.map(toWireValue) } } : { structValue: toWireStruct(json) };
}

export function isList(json: JsonValue): json is readonly JsonValue[] {
  return Array.isArray(json);
}

function toWireStatus(status: DescriptorStatus): WireStatus {
  const { code, currentLimit, limitRemaining, durationUntilResetUs } = status;
  return {
    code: WIRE_CODES[code],
    ...(currentLimit === undefined ? {} : { current_limit: toWireLimit(currentLimit) }),
    limit_remaining: toWireRemaining(limitRemaining),
    ...(durationUntilResetUs === undefined ? {} : { duration_until_reset: { seconds: toSecondsUp(durationUntilResetUs) } }),
  };
}

function toWireLimit({ requestsPerUnit, unit, name, unitMultiplier }: Limit): WireLimit {
  return {
    requests_per_unit: requestsPerUnit,
    unit: WIRE_UNITS[unit],
    ...(name === '' ? {} : { name }),
    ...(unitMultiplier === 1 ? {} : { unit_multiplier: { value: unitMultiplier } }),
  };
}

export function toWireRemaining(limitRemaining: number): number {
  return Math.min(Math.max(limitRemaining, 0), UINT32_MAX);
}
