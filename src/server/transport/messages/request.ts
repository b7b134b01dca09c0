/** Converts the wire request to the domain's, or reports why it is invalid. */

import { REFERENCE_ALGORITHM } from '../../../domain/algorithm/algorithms';
import { DESCRIPTORS_MAX, ENTRIES_MAX, TEXT_BYTES_MAX } from '../../../domain/descriptor/descriptor-bounds';
import {
  HITS_MAX,
  type ByteString,
  type Descriptor,
  type Entry,
  type LimitOverride,
  type RateLimitRequest,
} from '../../../domain/descriptor/descriptor';
import { BadRequestError } from '../../../lib/errors';
import { isLimitProblem, makeLimit } from '../../../domain/rule/limit';
import { TIME_UNITS, type TimeUnit } from '../../../domain/descriptor/unit';
import { WIRE_UNITS, type WireDescriptor, type WireOverride, type WireRequest } from './wire';

const UNIT_BY_NUMBER: ReadonlyMap<number, TimeUnit> = new Map(TIME_UNITS.map((unit) => [WIRE_UNITS[unit], unit]));

/** @throws BadRequestError that names the field and the fix, and never quotes a key or a value */
export function toRequest(wire: WireRequest): RateLimitRequest {
  const { domain = '', descriptors = [], hits_addend: hitsAddend = 0 } = wire;
  if (domain === '') throw new BadRequestError('rate limit domain must not be empty');
  if (domain.length > TEXT_BYTES_MAX) throw tooLong('domain', domain);
  checkDescriptorCount(descriptors.length);
  if (descriptors.length === 0) throw new BadRequestError('rate limit descriptor list must not be empty; send at least one');
  // Envoy sends 0 for a call that counts once.
  const hits = hitsAddend === 0 ? 1 : hitsAddend;
  const converted = toDescriptors(descriptors, hits);
  return hitsAddend === 0 ? { domain, descriptors: converted, hits } : { domain, descriptors: converted, hits, saysHits: true };
}

/** The message does not name the count, because decoding stops at the first excess item. @throws BadRequestError */
export function checkDescriptorCount(count: number): void {
  if (count > DESCRIPTORS_MAX) throw new BadRequestError(`descriptors has over ${DESCRIPTORS_MAX} items; send at most ${DESCRIPTORS_MAX}`);
}

/** @throws BadRequestError. `index` is the descriptor's. */
export function checkEntryCount(count: number, index: number): void {
  if (count > ENTRIES_MAX)
    throw new BadRequestError(`descriptors[${index}].entries has over ${ENTRIES_MAX} items; send at most ${ENTRIES_MAX}`);
}

/** Almost all wire descriptors have the domain's form already, and are used without a copy. */
function toDescriptors(wire: readonly WireDescriptor[], requestHits: number): readonly Descriptor[] {
  return wire.every(isPlain) ? wire : wire.map((descriptor, index) => toDescriptor(descriptor, { index, requestHits }));
}

/** Whether the descriptor has only complete entries within the bounds. */
function isPlain(wire: WireDescriptor): wire is Descriptor {
  const { entries, limit, hits_addend: hitsAddend, is_negative_hits: refund } = wire;
  if (entries === undefined || entries.length > ENTRIES_MAX || limit !== undefined || hitsAddend !== undefined || refund !== undefined)
    return false;
  for (const { key, value } of entries) {
    if (key === undefined || value === undefined || key.length > TEXT_BYTES_MAX || value.length > TEXT_BYTES_MAX) return false;
  }
  return true;
}

function toDescriptor(wire: WireDescriptor, { index, requestHits }: { readonly index: number; readonly requestHits: number }): Descriptor {
  const { entries: wireEntries = [], limit } = wire;
  checkEntryCount(wireEntries.length, index);
  const entries: Entry[] = [];
  for (const { key = '', value = '' } of wireEntries) {
    // The path of a text is built only for one that is too long.
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

/** The descriptor's own hits, or undefined. A refund without a number returns the hits of the request. */
function toHits(wire: WireDescriptor, requestHits: number): number | undefined {
  const { hits_addend: hitsAddend, is_negative_hits: refund = false } = wire;
  if (hitsAddend === undefined && !refund) return undefined;
  const hits = hitsAddend === undefined ? requestHits : Math.min(Number(hitsAddend.value ?? '0'), HITS_MAX);
  // 0 stays 0, not -0: a refund of nothing is a check.
  return refund && hits > 0 ? -hits : hits;
}

function toOverride(wire: WireOverride, index: number): LimitOverride {
  const path = `descriptors[${index}].limit`;
  const { requests_per_unit: requestsPerUnit = 0, unit: unitNumber = 0, unit_multiplier: multiplier } = wire;
  const unit = UNIT_BY_NUMBER.get(unitNumber);
  if (unit === undefined) {
    throw new BadRequestError(
      `${path}.unit is ${unitNumber === 0 ? 'UNKNOWN' : unitNumber}; set SECOND, MINUTE, HOUR, DAY, WEEK, MONTH or YEAR`,
    );
  }
  const unitMultiplier = multiplier === undefined ? 1 : (multiplier.value ?? 0);
  // The algorithm of the rule is unknown here; without a burst all algorithms have the same bounds.
  const made = makeLimit({ requestsPerUnit, unit, unitMultiplier, algorithm: REFERENCE_ALGORITHM });
  if (isLimitProblem(made)) throw new BadRequestError(`${path}.${made.field} ${made.message}`);
  return { requestsPerUnit, unit, unitMultiplier };
}
