/** From a decision to the bytes of the wire's response, without a step between; `toWireResponse` says the same in objects. */

import type { Decision, DescriptorStatus } from '../../engine/decision';
import type { Limit } from '../../rule/limit';
import { FALLBACK_METADATA, toWireRemaining, toWireSeconds, WIRE_CODES } from '../response';
import { WIRE_UNITS, type WireStruct } from '../wire';
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

/** Each field that is there is written, also one with its default. The answer is valid until the next call. */
export function encodeResponse({ overallCode, statuses, fallback }: Decision): Buffer {
  writer.reset();
  writer.number(RESPONSE.overallCode, WIRE_CODES[overallCode]);
  for (const status of statuses) writeStatus(status);
  if (fallback === true) writeStruct(FALLBACK_METADATA);
  return writer.bytes();
}

function writeStatus({ code, currentLimit, limitRemaining, durationUntilResetUs }: DescriptorStatus): void {
  const start = writer.begin(RESPONSE.statuses);
  writer.number(STATUS.code, WIRE_CODES[code]);
  if (currentLimit !== undefined) writeLimit(currentLimit);
  writer.number(STATUS.limitRemaining, toWireRemaining(limitRemaining));
  if (durationUntilResetUs !== undefined) {
    const durationStart = writer.begin(STATUS.durationUntilReset);
    writer.number(DURATION.seconds, toWireSeconds(durationUntilResetUs));
    writer.end(durationStart);
  }
  writer.end(start);
}

function writeLimit({ requestsPerUnit, unit, name, unitMultiplier }: Limit): void {
  const start = writer.begin(STATUS.currentLimit);
  writer.number(LIMIT.requestsPerUnit, requestsPerUnit);
  writer.number(LIMIT.unit, WIRE_UNITS[unit]);
  if (name !== '') writer.text(LIMIT.name, name);
  if (unitMultiplier !== 1) {
    const multiplierStart = writer.begin(LIMIT.unitMultiplier);
    writer.number(WRAPPED.value, unitMultiplier);
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
