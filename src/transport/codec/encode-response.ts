/** From a decision to the bytes of the wire's response, without a step between; `toWireResponse` says the same in objects. */

import { toSecondsUp, type Decision, type DescriptorStatus, type Header } from '../../engine/decision';
import type { Limit } from '../../rule/limit';
import type { JsonObject, JsonValue } from '../../rule/rule';
import { isList, metadataOf, toWireRemaining, WIRE_CODES } from '../response';
import { WIRE_UNITS } from '../wire';
import { WireWriter } from './wire-writer';

/** Field numbers, from proto/. */
const RESPONSE = { overallCode: 1, statuses: 2, responseHeadersToAdd: 3, dynamicMetadata: 6 } as const;
const STATUS = { code: 1, currentLimit: 2, limitRemaining: 3, durationUntilReset: 4 } as const;
const LIMIT = { requestsPerUnit: 1, unit: 2, name: 3, unitMultiplier: 4 } as const;
const WRAPPED = { value: 1 } as const;
const DURATION = { seconds: 1 } as const;
const HEADER = { key: 1, value: 2 } as const;
const STRUCT = { fields: 1 } as const;
const MAP = { key: 1, value: 2 } as const;
const VALUE = { nullValue: 1, numberValue: 2, stringValue: 3, boolValue: 4, structValue: 5, listValue: 6 } as const;
const LIST = { values: 1 } as const;

/** Nothing is encoded while something else is: one buffer does for all. */
const writer = new WireWriter();

/** Each field that is there is written, also one with its default. The answer is valid until the next call. */
export function encodeResponse(decision: Decision): Buffer {
  const { overallCode, statuses, headers } = decision;
  writer.reset();
  writer.number(RESPONSE.overallCode, WIRE_CODES[overallCode]);
  for (const status of statuses) writeStatus(status);
  if (headers !== undefined) for (const header of headers) writeHeader(header);
  const metadata = metadataOf(decision);
  if (metadata !== undefined) writeStruct(RESPONSE.dynamicMetadata, metadata);
  return writer.bytes();
}

function writeStatus({ code, currentLimit, limitRemaining, durationUntilResetUs }: DescriptorStatus): void {
  const start = writer.begin(RESPONSE.statuses);
  writer.number(STATUS.code, WIRE_CODES[code]);
  if (currentLimit !== undefined) writeLimit(currentLimit);
  writer.number(STATUS.limitRemaining, toWireRemaining(limitRemaining));
  if (durationUntilResetUs !== undefined) {
    const durationStart = writer.begin(STATUS.durationUntilReset);
    writer.number(DURATION.seconds, toSecondsUp(durationUntilResetUs));
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

function writeHeader({ name, value }: Header): void {
  const start = writer.begin(RESPONSE.responseHeadersToAdd);
  writer.text(HEADER.key, name);
  writer.text(HEADER.value, value);
  writer.end(start);
}

function writeStruct(field: number, json: JsonObject): void {
  const start = writer.begin(field);
  for (const [key, value] of Object.entries(json)) {
    const entryStart = writer.begin(STRUCT.fields);
    writer.text(MAP.key, key);
    writeValue(MAP.value, value);
    writer.end(entryStart);
  }
  writer.end(start);
}

function writeValue(field: number, json: JsonValue): void {
  const start = writer.begin(field);
  if (json === null) writer.number(VALUE.nullValue, 0);
  else if (typeof json === 'string') writer.text(VALUE.stringValue, json);
  else if (typeof json === 'number') writer.double(VALUE.numberValue, json);
  else if (typeof json === 'boolean') writer.number(VALUE.boolValue, json ? 1 : 0);
  else if (isList(json)) writeList(json);
  else writeStruct(VALUE.structValue, json);
  writer.end(start);
}

function writeList(json: readonly JsonValue[]): void {
  const start = writer.begin(VALUE.listValue);
  for (const value of json) writeValue(LIST.values, value);
  writer.end(start);
}
