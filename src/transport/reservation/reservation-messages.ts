/** The messages of reservations as plain objects, wire names kept: what gRPC and HTTP have in common. */

import type { RateLimitRequest } from '../../descriptor/descriptor';
import { HITS_MAX } from '../../descriptor/descriptor';
import type { ReservationState } from '../../engine/reservation';
import { BadRequestError } from '../../errors';
import type { ReservedRequest, ReserveAnswer, ReserveAsk, StepAnswer, StepAsk } from '../../reservation/reservation-service';
import { toRequest } from '../request';
import { toWireResponse, WIRE_CODES } from '../response';
import type { WireCode, WireDescriptor, WireStatus } from '../wire';

/** A google.protobuf.Duration; 64-bit numbers are digits. */
export interface WireSpan {
  readonly seconds?: string;
  readonly nanos?: number;
}

/** Of every step; a field that is absent was not sent. */
export interface WireStep {
  readonly domain?: string;
  readonly descriptors?: readonly WireDescriptor[];
  readonly id?: string;
  readonly hits?: string;
  readonly ttl?: WireSpan;
}

export interface WireReserved {
  readonly code: WireCode;
  readonly id: string;
  readonly granted_hits: number;
  readonly expires_in: WireSpan;
  readonly statuses: readonly WireStatus[];
  readonly share_exhausted: boolean;
  readonly repeated_call: boolean;
  readonly degraded: boolean;
  readonly state: number;
}

export interface WireStepAnswer {
  readonly id: string;
  readonly state: number;
  readonly granted_hits: number;
  readonly committed_hits: number;
  readonly cut_hits: number;
  readonly late: boolean;
  readonly unknown: boolean;
  readonly repeated_call: boolean;
  readonly degraded: boolean;
  readonly expires_in: WireSpan;
}

/** The numbers of `State`. */
export const WIRE_STATES: Readonly<Record<ReservationState, number>> = { held: 1, committed: 2, released: 3, lapsed: 4 };

const US_PER_S = 1_000_000;
const NANOS_PER_US = 1_000;
const NANOS_PER_MS = 1_000_000;

/** @throws BadRequestError that names the field */
export function toReserveAsk(wire: WireStep): ReserveAsk {
  const hits = readHits(wire);
  if (hits === 0) throw new BadRequestError('hits must be at least 1; to look whether one is left, send a check');
  return { request: toReserved(wire, { needsDescriptors: true }), id: wire.id ?? '', hits, ttlMs: readTtlMs(wire) };
}

/** @throws BadRequestError that names the field */
export function toCommitAsk(wire: WireStep): StepAsk & { readonly hits: number } {
  return { ...toStepAsk(wire), hits: readHits(wire) };
}

/** @throws BadRequestError that names the field */
export function toExtendAsk(wire: WireStep): StepAsk & { readonly ttlMs: number | undefined } {
  return { ...toStepAsk(wire), ttlMs: readTtlMs(wire) };
}

/** @throws BadRequestError that names the field */
export function toStepAsk(wire: WireStep): StepAsk {
  return { request: toReserved(wire, { needsDescriptors: false }), id: wire.id ?? '' };
}

export function toWireReserved({ decision, id, granted, expiresInUs, isShareExhausted, known, isDegraded }: ReserveAnswer): WireReserved {
  const isDenied = isShareExhausted || decision.overallCode !== 'OK';
  return {
    code: isDenied ? WIRE_CODES.OVER_LIMIT : WIRE_CODES.OK,
    id,
    granted_hits: granted,
    expires_in: toSpan(expiresInUs),
    statuses: toWireResponse(decision).statuses,
    share_exhausted: isShareExhausted,
    repeated_call: known !== undefined,
    degraded: isDegraded,
    state: isDenied ? 0 : WIRE_STATES[known?.state ?? 'held'],
  };
}

export function toWireStepAnswer({ id, record, expiresInUs, isChanged, isDegraded }: StepAnswer): WireStepAnswer {
  return {
    id,
    state: WIRE_STATES[record.state],
    granted_hits: record.granted,
    committed_hits: record.actual,
    cut_hits: record.cut,
    late: record.isLate,
    unknown: record.isUnknown,
    repeated_call: !isChanged,
    degraded: isDegraded,
    expires_in: toSpan(expiresInUs),
  };
}

function toReserved({ domain = '', descriptors = [] }: WireStep, { needsDescriptors }: { readonly needsDescriptors: boolean }): ReservedRequest {
  for (const [index, { hits_addend: hits, is_negative_hits: refund }] of descriptors.entries()) {
    if (hits !== undefined || refund === true) {
      const field = hits === undefined ? 'is_negative_hits' : 'hits_addend';
      throw new BadRequestError(`descriptors[${index}].${field} must be left out; a reservation has one number of hits`);
    }
  }
  const isUnnamed = descriptors.length === 0 && !needsDescriptors;
  const request: RateLimitRequest = toRequest({ domain, descriptors: isUnnamed ? [{ entries: [] }] : descriptors });
  return { domain: request.domain, descriptors: isUnnamed ? [] : request.descriptors };
}

/** As many as any limit can hold stand for more. */
function readHits({ hits = '0' }: WireStep): number {
  return Math.min(Number(hits), HITS_MAX);
}

function readTtlMs({ ttl }: WireStep): number | undefined {
  return ttl === undefined ? undefined : Number(ttl.seconds ?? '0') * 1_000 + Math.floor((ttl.nanos ?? 0) / NANOS_PER_MS);
}

function toSpan(durationUs: number): WireSpan {
  return { seconds: String(Math.floor(durationUs / US_PER_S)), nanos: (durationUs % US_PER_S) * NANOS_PER_US };
}
