/** Turns the request of a program into the message of ShouldRateLimit. */

import { toByteString } from '../../../domain/descriptor/byte-string';
import {
  WIRE_UNITS,
  type WireDescriptor,
  type WireEntry,
  type WireOverride,
  type WireRequest,
} from '../../../server/transport/messages/wire';
import { InvalidRequestError } from './invalid-request-error';
import type { Descriptor, DetailedDescriptor, Entries, LimitOverride, LimitRequest } from './limiter';
import { isFields, kindOf, unknownName } from './read-option';

/** The largest number of most fields. Not that of `rule/limit`, which a client would load with all algorithms. */
const UINT32_MAX = 2 ** 32 - 1;

/** The most hits of a descriptor, which a field of 64 bits has. */
const HITS_MAX = Number.MAX_SAFE_INTEGER;

/** JavaScript moves such keys of an object to its front. */
const ARRAY_INDEX = /^(?:0|[1-9]\d{0,9})$/;

const REQUEST_NAMES = ['domain', 'descriptors', 'hitsAddend'];
const DETAILED_NAMES = ['entries', 'hitsAddend', 'limit'];
const LIMIT_NAMES = ['requestsPerUnit', 'unit', 'unitMultiplier'];

/** @throws InvalidRequestError that names the field */
export function toWireRequest(request: LimitRequest): WireRequest {
  checkFields(request, { names: REQUEST_NAMES, place: 'the request' });
  const { domain, descriptors, hitsAddend } = request;
  if (!Array.isArray(descriptors))
    throw new InvalidRequestError(`descriptors is ${kindOf(descriptors)}; set a list, such as [{ user: 'zoe' }]`);
  const wire = { domain: toBytes(domain, 'domain'), descriptors: descriptors.map(toWireDescriptor) };
  if (hitsAddend === undefined) return wire;
  if (!isWhole(hitsAddend, { min: 1, max: UINT32_MAX }))
    throw new InvalidRequestError(`hitsAddend is ${shown(hitsAddend)}; set a whole number from 1 to ${UINT32_MAX}`);
  return { ...wire, hits_addend: hitsAddend };
}

function toWireDescriptor(descriptor: Descriptor, index: number): WireDescriptor {
  const path = `descriptors[${index}]`;
  if (!isFields(descriptor))
    throw new InvalidRequestError(`${path} is ${kindOf(descriptor)}; set an object of keys and values, such as { user: 'zoe' }`);
  if (!isDetailed(descriptor)) return { entries: toWireEntries(descriptor, path) };
  checkFields(descriptor, { names: DETAILED_NAMES, place: path });
  const { entries, hitsAddend, limit } = descriptor;
  return {
    entries: toWireEntries(entries, `${path}.entries`),
    ...(hitsAddend !== undefined && toWireHits(hitsAddend, path)),
    ...(limit !== undefined && { limit: toWireOverride(limit, path) }),
  };
}

/** @throws InvalidRequestError */
function checkFields(value: unknown, { names, place }: { readonly names: readonly string[]; readonly place: string }): void {
  if (!isFields(value)) throw new InvalidRequestError(`${place} is ${kindOf(value)}; set an object with ${names.join(', ')}`);
  const sentence = unknownName(value, { names, place });
  if (sentence !== undefined) throw new InvalidRequestError(sentence);
}

/** An entry with the key `entries` has a text as its value. */
function isDetailed(descriptor: Descriptor): descriptor is DetailedDescriptor {
  return typeof descriptor.entries === 'object';
}

function toWireEntries(entries: Entries, path: string): WireEntry[] {
  if (isPairs(entries)) return entries.map((pair, i) => toWirePair(pair, `${path}[${i}]`));
  if (!isFields(entries)) throw new InvalidRequestError(`${path} is ${kindOf(entries)}; set an object of keys and values, or pairs`);
  const keys = Object.keys(entries);
  const isMoved = keys.length > 1 && keys.some((key) => ARRAY_INDEX.test(key));
  if (isMoved) throw new InvalidRequestError(`${path} has a number as a key, whose place in an object is lost; write the entries as pairs`);
  return keys.map((key, i) => ({ key: toBytes(key, `${path} key ${i + 1}`), value: toBytes(entries[key], `${path} value ${i + 1}`) }));
}

function toWirePair(pair: unknown, path: string): WireEntry {
  if (!Array.isArray(pair) || pair.length !== 2) throw new InvalidRequestError(`${path} is not a pair; set ['key', 'value']`);
  const [key, value] = pair as readonly unknown[];
  return { key: toBytes(key, `${path} key`), value: toBytes(value, `${path} value`) };
}

function isPairs(entries: Entries): entries is readonly (readonly [string, string])[] {
  return Array.isArray(entries);
}

/** An absent header is undefined, and a repeated one a list: such a request must not pass as one without limits. */
function toBytes(text: unknown, path: string): string {
  if (typeof text === 'string') return toByteString(text);
  throw new InvalidRequestError(`${path} is ${kindOf(text)}; set a text`);
}

function toWireHits(hits: number, path: string): Pick<WireDescriptor, 'hits_addend' | 'is_negative_hits'> {
  if (!isWhole(hits, { min: -HITS_MAX, max: HITS_MAX }))
    throw new InvalidRequestError(`${path}.hitsAddend is ${shown(hits)}; set a whole number from -${HITS_MAX} to ${HITS_MAX}`);
  const wire = { hits_addend: { value: String(Math.abs(hits)) } };
  return hits < 0 ? { ...wire, is_negative_hits: true } : wire;
}

function toWireOverride(limit: LimitOverride, path: string): WireOverride {
  checkFields(limit, { names: LIMIT_NAMES, place: `${path}.limit` });
  const { requestsPerUnit, unit, unitMultiplier } = limit;
  for (const [name, value, isNeeded] of [
    ['requestsPerUnit', requestsPerUnit, true] as const,
    ['unitMultiplier', unitMultiplier, false] as const,
  ]) {
    if ((value !== undefined || isNeeded) && !isWhole(value, { min: 0, max: UINT32_MAX }))
      throw new InvalidRequestError(`${path}.limit.${name} is ${shown(value)}; set a whole number from 0 to ${UINT32_MAX}`);
  }
  if (!Object.hasOwn(WIRE_UNITS, unit))
    throw new InvalidRequestError(`${path}.limit.unit is ${shown(unit)}; set ${Object.keys(WIRE_UNITS).join(', ')}`);
  return {
    requests_per_unit: requestsPerUnit,
    unit: WIRE_UNITS[unit],
    ...(unitMultiplier !== undefined && { unit_multiplier: { value: unitMultiplier } }),
  };
}

/** A number for an error message; of other values the kind. */
function shown(value: unknown): string {
  return typeof value === 'number' ? String(value) : kindOf(value);
}

function isWhole(value: unknown, { min, max }: { readonly min: number; readonly max: number }): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max;
}
