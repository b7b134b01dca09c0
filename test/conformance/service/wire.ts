/** What is asked and answered, to and from the messages of the rate limit service. */

import { toByteString, toText } from '../../../src/domain/descriptor/byte-string';
import { WIRE_UNITS, type WireRequest, type WireResponse } from '../../../src/server/transport/messages/wire';
import { limitText, UNITS, type DecidedRequest, type AnsweredStatus, type Asked, type AskedDescriptor } from '../model/asked';

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

/** Where it comes over a port what is 0 is not there, and 64-bit numbers are texts. */
interface ReceivedStatus {
  readonly code?: number;
  readonly current_limit?: { readonly requests_per_unit?: number; readonly unit?: number; readonly name?: string };
  readonly limit_remaining?: number;
  readonly duration_until_reset?: { readonly seconds?: number | string };
}

export interface ReceivedResponse {
  readonly overall_code: WireResponse['overall_code'];
  readonly statuses?: readonly ReceivedStatus[];
}

export function toAnswered({ overall_code: overallCode, statuses = [] }: ReceivedResponse): DecidedRequest {
  return { overallCode: CODES[overallCode], statuses: statuses.map(toAnsweredStatus) };
}

function toAnsweredStatus({
  code,
  current_limit: limit,
  limit_remaining: remaining,
  duration_until_reset: reset,
}: ReceivedStatus): AnsweredStatus {
  return {
    code: code === 2 ? 'OVER_LIMIT' : 'OK',
    ...(limit && {
      limit: limitText({ requestsPerUnit: limit.requests_per_unit ?? 0, unit: unitOf(limit.unit ?? 0), name: toText(limit.name ?? '') }),
    }),
    remaining: remaining ?? 0,
    ...(reset && { resetSeconds: Number(reset.seconds ?? 0) }),
  };
}

function unitOf(wireUnit: number): string {
  return UNITS.find((unit) => WIRE_UNITS[unit] === wireUnit) ?? `unit ${wireUnit}`;
}
