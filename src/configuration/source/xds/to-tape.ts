/** Converts a RateLimitConfig to the tape of an equivalent YAML file, so that both are compiled by the same code. */

import type { DocumentTape } from '../../yaml/document-tape';
import { TapeWriter } from '../../yaml/tape-writer';
import type { WireConfigDescriptor, WireRateLimitConfig, WireRateLimitPolicy, WireStruct, WireValue } from './wire';

/** Indexed by the numbers of RateLimitUnit; 0 means none. */
const UNITS = [undefined, 'second', 'minute', 'hour', 'day', 'month', 'year', 'week'] as const;

/** Offset of every node: the message is not text. */
const NOWHERE = 0;

/** Yields after each descriptor. Recurses as deep as the message, whose decoder bounds the depth. */
export function* toTape({ domain = '', descriptors = [] }: WireRateLimitConfig): Generator<undefined, DocumentTape> {
  const writer = new TapeWriter();
  writer.begin('map', NOWHERE);
  writeText(writer, 'domain', domain);
  yield* writeDescriptors(writer, descriptors);
  writer.end();
  return writer.finish();
}

function* writeDescriptors(writer: TapeWriter, descriptors: readonly WireConfigDescriptor[]): Generator<undefined, void> {
  writer.key('descriptors', NOWHERE);
  writer.begin('list', NOWHERE);
  for (const descriptor of descriptors) {
    yield* writeDescriptor(writer, descriptor);
    yield;
  }
  writer.end();
}

function* writeDescriptor(writer: TapeWriter, descriptor: WireConfigDescriptor): Generator<undefined, void> {
  const { key = '', value = '', rate_limit: policy, descriptors = [], metadata } = descriptor;
  writer.begin('map', NOWHERE);
  writeText(writer, 'key', key);
  if (value !== '') writeText(writer, 'value', value);
  if (policy !== undefined) writePolicy(writer, policy);
  if (descriptors.length > 0) yield* writeDescriptors(writer, descriptors);
  writeFlag(writer, 'shadow_mode', descriptor.shadow_mode);
  writeFlag(writer, 'detailed_metric', descriptor.detailed_metric);
  writeFlag(writer, 'quota_mode', descriptor.quota_mode);
  if (metadata !== undefined) {
    writer.key('metadata', NOWHERE);
    writeStruct(writer, metadata);
  }
  writer.end();
}

function writePolicy(
  writer: TapeWriter,
  { unit = 0, requests_per_unit: requestsPerUnit = 0, unlimited = false, name = '', replaces = [] }: WireRateLimitPolicy,
): void {
  writer.key('rate_limit', NOWHERE);
  writer.begin('map', NOWHERE);
  // An unknown number is shown as it is in the error about the unit.
  if (unit !== 0) writeText(writer, 'unit', UNITS[unit] ?? String(unit));
  // On the wire 0 and absent are the same: where hits are counted, 0 is meant.
  if (!unlimited || requestsPerUnit !== 0) {
    writer.key('requests_per_unit', NOWHERE);
    plain(writer, String(requestsPerUnit));
  }
  writeFlag(writer, 'unlimited', unlimited);
  if (name !== '') writeText(writer, 'name', name);
  if (replaces.length > 0) {
    writer.key('replaces', NOWHERE);
    writer.begin('list', NOWHERE);
    for (const replaced of replaces) {
      writer.begin('map', NOWHERE);
      writeText(writer, 'name', replaced.name ?? '');
      writer.end();
    }
    writer.end();
  }
  writer.end();
}

function writeStruct(writer: TapeWriter, { fields = {} }: WireStruct): void {
  writer.begin('map', NOWHERE);
  for (const [name, value] of Object.entries(fields)) {
    writer.key(name, NOWHERE);
    writeValue(writer, value);
  }
  writer.end();
}

function writeValue(writer: TapeWriter, { numberValue, stringValue, boolValue, structValue, listValue }: WireValue): void {
  if (stringValue !== undefined) quoted(writer, stringValue);
  else if (numberValue !== undefined) plain(writer, numberText(numberValue));
  else if (boolValue !== undefined) plain(writer, String(boolValue));
  else if (structValue !== undefined) writeStruct(writer, structValue);
  else if (listValue === undefined) plain(writer, '');
  else {
    writer.begin('list', NOWHERE);
    for (const value of listValue.values ?? []) writeValue(writer, value);
    writer.end();
  }
}

/** The number in YAML syntax. */
function numberText(value: number): string {
  if (Number.isNaN(value)) return '.nan';
  if (!Number.isFinite(value)) return value < 0 ? '-.inf' : '.inf';
  return String(value);
}

/** Writes only flags that are set, because absent ones are false. */
function writeFlag(writer: TapeWriter, name: string, value: boolean | undefined): void {
  if (value !== true) return;
  writer.key(name, NOWHERE);
  plain(writer, 'true');
}

function writeText(writer: TapeWriter, name: string, text: string): void {
  writer.key(name, NOWHERE);
  quoted(writer, text);
}

/** Like quoted text in YAML: always a string, even if it looks like a number. */
function quoted(writer: TapeWriter, text: string): void {
  writer.scalar(text, { plain: false, offset: NOWHERE });
}

function plain(writer: TapeWriter, text: string): void {
  writer.scalar(text, { plain: true, offset: NOWHERE });
}
