/** Turns the request of a program into the message of ShouldRateLimit. */

import { toByteString } from '../../descriptor/byte-string';
import { UINT32_MAX } from '../../rule/limit';
import { WIRE_UNITS, type WireDescriptor, type WireEntry, type WireOverride, type WireRequest } from '../../transport/messages/wire';
import { InvalidRequestError } from './invalid-request-error';
import type { Descriptor, DetailedDescriptor, Entries, LimitOverride, LimitRequest } from './limiter';

/** JavaScript moves such keys of an object to its front. */
const ARRAY_INDEX = /^(?:0|[1-9]\d{0,9})$/;

/** @throws InvalidRequestError that names the field */
export function toWireRequest({ domain, descriptors, hitsAddend }: LimitRequest): WireRequest {
  const wire = { domain: toBytes(domain, 'domain'), descriptors: descriptors.map(toWireDescriptor) };
  if (hitsAddend === undefined) return wire;
  if (!isWhole(hitsAddend, { min: 1, max: UINT32_MAX }))
    throw new InvalidRequestError(`hitsAddend is ${String(hitsAddend)}; set a whole number from 1 to ${UINT32_MAX}`);
  return { ...wire, hits_addend: hitsAddend };
}

function toWireDescriptor(descriptor: Descriptor, index: number): WireDescriptor {
  const path = `descriptors[${index}]`;
  if (!isDetailed(descriptor)) return { entries: toWireEntries(descriptor, path) };
  const { entries, hitsAddend, limit } = descriptor;
  return {
    entries: toWireEntries(entries, `${path}.entries`),
    ...(hitsAddend !== undefined && toWireHits(hitsAddend, path)),
    ...(limit !== undefined && { limit: toWireOverride(limit, path) }),
  };
}

/** An entry with the key `entries` has a text as its value. */
function isDetailed(descriptor: Descriptor): descriptor is DetailedDescriptor {
  return typeof descriptor.entries === 'object';
}

function toWireEntries(entries: Entries, path: string): WireEntry[] {
  if (isPairs(entries))
    return entries.map(([key, value], i) => ({ key: toBytes(key, `${path}[${i}] key`), value: toBytes(value, `${path}[${i}] value`) }));
  const keys = Object.keys(entries);
  const isMoved = keys.length > 1 && keys.some((key) => ARRAY_INDEX.test(key));
  if (isMoved) throw new InvalidRequestError(`${path} has a number as a key, whose place in an object is lost; write the entries as pairs`);
  return keys.map((key, i) => ({ key: toBytes(key, `${path} key ${i + 1}`), value: toBytes(entries[key], `${path} value ${i + 1}`) }));
}

function isPairs(entries: Entries): entries is readonly (readonly [string, string])[] {
  return Array.isArray(entries);
}

/** An absent header is undefined, and a repeated one a list: such a request must not pass as one without limits. */
function toBytes(text: unknown, path: string): string {
  if (typeof text === 'string') return toByteString(text);
  throw new InvalidRequestError(`${path} is ${text === null ? 'null' : typeof text}; set a text`);
}

function toWireHits(hits: number, path: string): Pick<WireDescriptor, 'hits_addend' | 'is_negative_hits'> {
  if (!isWhole(hits, { min: -UINT32_MAX, max: UINT32_MAX }))
    throw new InvalidRequestError(`${path}.hitsAddend is ${String(hits)}; set a whole number from -${UINT32_MAX} to ${UINT32_MAX}`);
  const wire = { hits_addend: { value: String(Math.abs(hits)) } };
  return hits < 0 ? { ...wire, is_negative_hits: true } : wire;
}

function toWireOverride({ requestsPerUnit, unit, unitMultiplier }: LimitOverride, path: string): WireOverride {
  for (const [name, value] of [['requestsPerUnit', requestsPerUnit] as const, ['unitMultiplier', unitMultiplier] as const]) {
    if (value !== undefined && !isWhole(value, { min: 0, max: UINT32_MAX }))
      throw new InvalidRequestError(`${path}.limit.${name} is ${String(value)}; set a whole number from 0 to ${UINT32_MAX}`);
  }
  return {
    requests_per_unit: requestsPerUnit,
    unit: WIRE_UNITS[unit],
    ...(unitMultiplier !== undefined && { unit_multiplier: { value: unitMultiplier } }),
  };
}

function isWhole(value: number, { min, max }: { readonly min: number; readonly max: number }): boolean {
  return Number.isInteger(value) && value >= min && value <= max;
}
