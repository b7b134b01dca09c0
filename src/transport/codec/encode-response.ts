/** From the wire's response to bytes, each field that is there where the wire has it, also one with its default. */

import type { WireLimit, WireResponse, WireStatus, WireStruct } from '../wire';
import { WireWriter } from './wire-writer';

/** Field numbers, from proto/. */
const RESPONSE = { overallCode: 1, statuses: 2, dynamicMetadata: 6 } as const;
const STATUS = { code: 1, currentLimit: 2, limitRemaining: 3, durationUntilReset: 4 } as const;
const LIMIT = { requestsPerUnit: 1, unit: 2, name: 3, unitMultiplier: 4 } as const;
const WRAPPED = { value: 1 } as const;
const DURATION = { seconds: 1 } as const;
const STRUCT = { fields: 1 } as const;
const MAP = { key: 1, value: 2 } as const;
const VALUE = { stringValue: 3 } as const;

/** Nothing is encoded while something else is: one buffer does for all. */
const writer = new WireWriter();

/** The answer is valid until the next call. */
export function encodeResponse({ overall_code: overallCode, statuses, dynamic_metadata: metadata }: WireResponse): Buffer {
  writer.reset();
  writer.number(RESPONSE.overallCode, overallCode);
  for (const status of statuses) writeStatus(status);
  if (metadata !== undefined) writeStruct(metadata);
  return writer.bytes();
}

function writeStatus({ code, current_limit: limit, limit_remaining: remaining, duration_until_reset: duration }: WireStatus): void {
  const start = writer.begin(RESPONSE.statuses);
  writer.number(STATUS.code, code);
  if (limit !== undefined) writeLimit(limit);
  writer.number(STATUS.limitRemaining, remaining);
  if (duration !== undefined) {
    const durationStart = writer.begin(STATUS.durationUntilReset);
    writer.number(DURATION.seconds, duration.seconds);
    writer.end(durationStart);
  }
  writer.end(start);
}

function writeLimit({ requests_per_unit: requestsPerUnit, unit, name, unit_multiplier: multiplier }: WireLimit): void {
  const start = writer.begin(STATUS.currentLimit);
  writer.number(LIMIT.requestsPerUnit, requestsPerUnit);
  writer.number(LIMIT.unit, unit);
  if (name !== undefined) writer.text(LIMIT.name, name);
  if (multiplier !== undefined) {
    const multiplierStart = writer.begin(LIMIT.unitMultiplier);
    writer.number(WRAPPED.value, multiplier.value);
    writer.end(multiplierStart);
  }
  writer.end(start);
}

function writeStruct({ fields }: WireStruct): void {
  const start = writer.begin(RESPONSE.dynamicMetadata);
  for (const [key, { stringValue }] of Object.entries(fields)) {
    const entryStart = writer.begin(STRUCT.fields);
    writer.text(MAP.key, key);
    const valueStart = writer.begin(MAP.value);
    writer.text(VALUE.stringValue, stringValue);
    writer.end(valueStart);
    writer.end(entryStart);
  }
  writer.end(start);
}
