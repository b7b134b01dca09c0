/** From the wire's request to the domain's, or to the reason why it can't be decided. */

import { DESCRIPTORS_MAX, ENTRIES_MAX, TEXT_BYTES_MAX } from '../descriptor/bounds';
import { HITS_MAX, type ByteString, type Descriptor, type Entry, type LimitOverride, type RateLimitRequest } from '../descriptor/descriptor';
import { BadRequestError } from '../errors';
import { isLimitProblem, makeLimit } from '../rule/limit';
import { UNIT_NAMES, type UnitName } from '../rule/unit';
import { WIRE_UNITS, type WireDescriptor, type WireOverride, type WireRequest } from './wire';

const UNIT_BY_NUMBER: ReadonlyMap<number, UnitName> = new Map(UNIT_NAMES.map((unit) => [WIRE_UNITS[unit], unit]));

/** @throws BadRequestError that names the field and what to do, and never quotes a key or a value. */
export function toRequest(wire: WireRequest): RateLimitRequest {
  const { domain = '', descriptors = [], hits_addend: hitsAddend = 0 } = wire;
  if (domain === '') throw new BadRequestError('rate limit domain must not be empty');
  if (domain.length > TEXT_BYTES_MAX) throw tooLong('domain', domain);
  checkDescriptorCount(descriptors.length);
  if (descriptors.length === 0) throw new BadRequestError('rate limit descriptor list must not be empty; send at least one');
  // Envoy sends 0 with every call that is to count once.
  const hits = hitsAddend === 0 ? 1 : hitsAddend;
  const asked = toDescriptors(descriptors, hits);
  return hitsAddend === 0 ? { domain, descriptors: asked, hits } : { domain, descriptors: asked, hits, saysHits: true };
}

/** @throws BadRequestError */
export function checkDescriptorCount(count: number): void {
  if (count > DESCRIPTORS_MAX) throw new BadRequestError(`descriptors has ${count} items; send at most ${DESCRIPTORS_MAX}`);
}

/** @throws BadRequestError. `index` is the descriptor's. */
export function checkEntryCount(count: number, index: number): void {
  if (count > ENTRIES_MAX) throw new BadRequestError(`descriptors[${index}].entries has ${count} items; send at most ${ENTRIES_MAX}`);
}

/** Nearly always the wire's descriptors are what the domain's would be: then they are used as they are, and nothing is made twice. */
function toDescriptors(wire: readonly WireDescriptor[], requestHits: number): readonly Descriptor[] {
  return wire.every(isPlain) ? wire : wire.map((descriptor, index) => toDescriptor(descriptor, { index, requestHits }));
}

/** Whether it has entries that are whole and within their bounds, and nothing else. */
function isPlain(wire: WireDescriptor): wire is Descriptor {
  const { entries, limit, hits_addend: hitsAddend, is_negative_hits: refund } = wire;
  if (entries === undefined || entries.length > ENTRIES_MAX || limit !== undefined || hitsAddend !== undefined || refund !== undefined) return false;
  for (const { key, value } of entries) {
    if (key === undefined || value === undefined || key.length > TEXT_BYTES_MAX || value.length > TEXT_BYTES_MAX) return false;
  }
  return true;
}

interface DescriptorContext {
  readonly index: number;
  readonly requestHits: number;
}

function toDescriptor(wire: WireDescriptor, { index, requestHits }: DescriptorContext): Descriptor {
  const { entries: wireEntries = [], limit } = wire;
  checkEntryCount(wireEntries.length, index);
  const entries: Entry[] = [];
  for (const { key = '', value = '' } of wireEntries) {
    // Where a text stands is only said of one that is too long.
    if (key.length > TEXT_BYTES_MAX) throw tooLong(`descriptors[${index}].entries[${entries.length}].key`, key);
    if (value.length > TEXT_BYTES_MAX) throw tooLong(`descriptors[${index}].entries[${entries.length}].value`, value);
    entries.push({ key, value });
  }
  const hits = toHits(wire, requestHits);
  if (hits === undefined && limit === undefined) return { entries };
  return {
    entries,
    ...(limit === undefined ? {} : { override: toOverride(limit, index) }),
    ...(hits === undefined ? {} : { hits }),
  };
}

function tooLong(path: string, { length }: ByteString): BadRequestError {
  return new BadRequestError(`${path} has ${length} bytes; send at most ${TEXT_BYTES_MAX}`);
}

/** The descriptor's own hits, or undefined. A refund without a number gives back the hits of the request. */
function toHits(wire: WireDescriptor, requestHits: number): number | undefined {
  const { hits_addend: hitsAddend, is_negative_hits: refund = false } = wire;
  if (hitsAddend === undefined && !refund) return undefined;
  const hits = hitsAddend === undefined ? requestHits : Math.min(Number(hitsAddend.value ?? '0'), HITS_MAX);
  // 0 stays 0: a refund of nothing is a check, and -0 is no number that anyone expects.
  return refund && hits > 0 ? -hits : hits;
}

function toOverride(wire: WireOverride, index: number): LimitOverride {
  const path = `descriptors[${index}].limit`;
  const { requests_per_unit: requestsPerUnit = 0, unit: unitNumber = 0, unit_multiplier: multiplier } = wire;
  const unit = UNIT_BY_NUMBER.get(unitNumber);
  if (unit === undefined) {
    throw new BadRequestError(`${path}.unit is ${unitNumber === 0 ? 'UNKNOWN' : unitNumber}; set SECOND, MINUTE, HOUR, DAY, WEEK, MONTH or YEAR`);
  }
  const unitMultiplier = multiplier === undefined ? 1 : (multiplier.value ?? 0);
  // Which algorithm counts it is not known here; without a burst all of them have the same bounds.
  const made = makeLimit({ requestsPerUnit, unit, unitMultiplier, algorithm: 'fixed_window' });
  if (isLimitProblem(made)) throw new BadRequestError(`${path}.${made.field} ${made.message}`);
  return { requestsPerUnit, unit, unitMultiplier };
}
