/** From a decision to the wire's response: codes, units and roundings, and the message as plain objects for /json. */

import type { Code, Decision, DescriptorStatus } from '../engine/decision';
import { UINT32_MAX, type Limit } from '../rule/limit';
import { WIRE_UNITS, type WireCode, type WireLimit, type WireResponse, type WireStatus } from './wire';

export const WIRE_CODES: Readonly<Record<Code, WireCode>> = { OK: 1, OVER_LIMIT: 2 };

const SECOND_US = 1_000_000;

/** For Envoy's access log: the answer was decided without the store. */
export const FALLBACK_METADATA = { fields: { decided_by: { stringValue: 'fallback' } } };

export function toWireResponse(decision: Decision): WireResponse {
  return {
    overall_code: WIRE_CODES[decision.overallCode],
    statuses: decision.statuses.map(toWireStatus),
    ...(decision.fallback && { dynamic_metadata: FALLBACK_METADATA }),
  };
}

function toWireStatus(status: DescriptorStatus): WireStatus {
  const { code, currentLimit, limitRemaining, durationUntilResetUs } = status;
  return {
    code: WIRE_CODES[code],
    ...(currentLimit === undefined ? {} : { current_limit: toWireLimit(currentLimit) }),
    limit_remaining: toWireRemaining(limitRemaining),
    ...(durationUntilResetUs === undefined ? {} : { duration_until_reset: { seconds: toWireSeconds(durationUntilResetUs) } }),
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

/** Envoy cuts what is below a second, and a client told to come back too early is denied again. */
export function toWireSeconds(durationUs: number): number {
  return Math.ceil(durationUs / SECOND_US);
}
