/** The requests of reservations as plain objects with wire names, common to gRPC and HTTP, and what they ask for. */

import { HITS_MAX, type RateLimitRequest } from '../../../domain/descriptor/descriptor';
import { BadRequestError } from '../../../lib/errors';
import type { ReservedRequest, ReserveAsk, StepAsk } from '../../../state/reservation/reservation-service';
import { toRequest } from './request';
import type { WireDescriptor, WireSpan } from './wire';
import { NS_PER_MS } from '../../../lib/time-units';

/** The fields of all steps; an absent field was not sent. */
export interface WireStep {
  readonly domain?: string;
  readonly descriptors?: readonly WireDescriptor[];
  readonly id?: string;
  readonly hits?: string;
  readonly ttl?: WireSpan;
}

/** @throws BadRequestError that names the field */
export function toReserveAsk(wire: WireStep): ReserveAsk {
  const hits = readHits(wire);
  if (hits === 0) throw new BadRequestError('hits must be at least 1; send a check to see whether one is left');
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

function toReserved(
  { domain = '', descriptors = [] }: WireStep,
  { needsDescriptors }: { readonly needsDescriptors: boolean },
): ReservedRequest {
  for (const [index, { hits_addend: hits, is_negative_hits: refund }] of descriptors.entries()) {
    if (hits !== undefined || refund === true) {
      const field = hits === undefined ? 'is_negative_hits' : 'hits_addend';
      throw new BadRequestError(`descriptors[${index}].${field} must be absent: all descriptors of a reservation have the same hits`);
    }
  }
  const isUnnamed = descriptors.length === 0 && !needsDescriptors;
  const request: RateLimitRequest = toRequest({ domain, descriptors: isUnnamed ? [{ entries: [] }] : descriptors });
  return { domain: request.domain, descriptors: isUnnamed ? [] : request.descriptors };
}

/** Larger numbers are cut to the most that any limit can hold. */
function readHits({ hits = '0' }: WireStep): number {
  return Math.min(Number(hits), HITS_MAX);
}

function readTtlMs({ ttl }: WireStep): number | undefined {
  return ttl === undefined ? undefined : Number(ttl.seconds ?? '0') * 1_000 + Math.floor((ttl.nanos ?? 0) / NS_PER_MS);
}
