/** What is asked and answered, to and from the messages of the rate limit service. */

import { toByteString, toText } from '../../src/descriptor/byte-string';
import { WIRE_UNITS, type WireRequest, type WireResponse, type WireStatus } from '../../src/transport/wire';
import { limitText, UNITS, type Answered, type AnsweredStatus, type Asked, type AskedDescriptor } from './asked';

const CODES = { 1: 'OK', 2: 'OVER_LIMIT' } as const;

export function toWireRequest({ domain, descriptors, hits }: Asked): WireRequest {
  return { domain: toByteString(domain), descriptors: descriptors.map(toWireDescriptor), ...(hits !== undefined && { hits_addend: hits }) };
}

function toWireDescriptor({ entries, hits, isRefund, limit }: AskedDescriptor) {
  return {
    entries: entries.map(({ key, value }) => ({ key: toByteString(key), value: toByteString(value) })),
    ...(hits !== undefined && { hits_addend: { value: hits.toString() } }),
    ...(isRefund === true && { is_negative_hits: true }),
    ...(limit && { limit: { requests_per_unit: limit.requestsPerUnit, unit: WIRE_UNITS[limit.unit] } }),
  };
}

export function toAnswered({ overall_code: overallCode, statuses }: WireResponse): Answered {
  return { overallCode: CODES[overallCode], statuses: statuses.map(toAnsweredStatus) };
}

function toAnsweredStatus({ code, current_limit: limit, limit_remaining: remaining, duration_until_reset: reset }: WireStatus): AnsweredStatus {
  return {
    code: CODES[code],
    ...(limit && { limit: limitText({ requestsPerUnit: limit.requests_per_unit, unit: unitOf(limit.unit), name: toText(limit.name ?? '') }) }),
    remaining,
    ...(reset && { resetSeconds: Number(reset.seconds) }),
  };
}

function unitOf(wireUnit: number): string {
  return UNITS.find((unit) => WIRE_UNITS[unit] === wireUnit) ?? `unit ${wireUnit}`;
}
