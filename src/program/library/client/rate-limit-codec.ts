/** The messages of ShouldRateLimit as a client sends and receives them; the numbers are those of proto/. The client loads no parser of proto files. */

import { LENGTH_DELIMITED, VARINT, WireReader } from '../../../server/transport/messages/wire-reader';
import type { WireDescriptor, WireEntry, WireOverride, WireRequest } from '../../../server/transport/messages/wire';
import { WireWriter } from '../../../server/transport/messages/wire-writer';
import type { ReceivedHeader, ReceivedLimit, ReceivedResponse, ReceivedStatus } from '../limiter/to-result';

export const SHOULD_RATE_LIMIT = '/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit';

const REQUEST = { domain: 1, descriptors: 2, hitsAddend: 3 } as const;
const DESCRIPTOR = { entries: 1, limit: 2, hitsAddend: 3, isNegativeHits: 4 } as const;
const ENTRY = { key: 1, value: 2 } as const;
const OVERRIDE = { requestsPerUnit: 1, unit: 2, unitMultiplier: 3 } as const;
const WRAPPER = { value: 1 } as const;

/** Tags: field numbers with their wire types. */
const RESPONSE = { overallCode: varint(1), statuses: len(2), headers: len(3), rawBody: len(5) } as const;
const STATUS = { code: varint(1), currentLimit: len(2), limitRemaining: varint(3), durationUntilReset: len(4) } as const;
const LIMIT = { requestsPerUnit: varint(1), unit: varint(2), name: len(3), unitMultiplier: len(4) } as const;
const HEADER = { key: len(1), value: len(2) } as const;
const SPAN = { seconds: varint(1) } as const;
const WRAPPED = { value: varint(1) } as const;

/** Fields of an answer, nested ones included; grpc-js bounds its bytes. */
const FIELDS_MAX = 100_000;

/** Shared, because coding is synchronous. */
const writer = new WireWriter();
const reader = new WireReader(FIELDS_MAX);

/** Absent fields stay absent. */
export function encodeRequest({ domain = '', descriptors = [], hits_addend: hits }: WireRequest): Buffer {
  writer.reset();
  writeBytes(REQUEST.domain, domain);
  for (const descriptor of descriptors) writeDescriptor(descriptor);
  if (hits !== undefined) writer.number(REQUEST.hitsAddend, hits);
  // grpc-js keeps the bytes until it has sent them.
  return Buffer.from(writer.bytes());
}

function writeDescriptor({ entries = [], limit, hits_addend: hits, is_negative_hits: isNegative }: WireDescriptor): void {
  const start = writer.begin(REQUEST.descriptors);
  for (const entry of entries) writeEntry(entry);
  if (limit !== undefined) writeOverride(limit);
  if (hits !== undefined) writeWrapped(DESCRIPTOR.hitsAddend, Number(hits.value ?? 0));
  if (isNegative === true) writer.number(DESCRIPTOR.isNegativeHits, 1);
  writer.end(start);
}

function writeEntry({ key = '', value = '' }: WireEntry): void {
  const start = writer.begin(DESCRIPTOR.entries);
  writeBytes(ENTRY.key, key);
  writeBytes(ENTRY.value, value);
  writer.end(start);
}

function writeOverride({ requests_per_unit: requests = 0, unit = 0, unit_multiplier: multiplier }: WireOverride): void {
  const start = writer.begin(DESCRIPTOR.limit);
  writer.number(OVERRIDE.requestsPerUnit, requests);
  writer.number(OVERRIDE.unit, unit);
  if (multiplier !== undefined) writeWrapped(OVERRIDE.unitMultiplier, multiplier.value ?? 0);
  writer.end(start);
}

function writeWrapped(field: number, value: number): void {
  const start = writer.begin(field);
  writer.number(WRAPPER.value, value);
  writer.end(start);
}

/** Texts of requests are byte strings. */
function writeBytes(field: number, bytes: string): void {
  writer.raw(field, Buffer.from(bytes, 'latin1'));
}

/**
 * Fields with a default value may be absent. Metadata for an access log is skipped.
 *
 * @throws MalformedError or TooManyFieldsError
 */
export function decodeResponse(message: Buffer): ReceivedResponse {
  reader.begin(message.toString('latin1'));
  const statuses: ReceivedStatus[] = [];
  const headers: ReceivedHeader[] = [];
  let code: number | undefined;
  let body: Buffer | undefined;
  while (reader.more()) {
    const tag = reader.tag();
    if (tag === RESPONSE.overallCode) code = reader.int32();
    else if (tag === RESPONSE.statuses) statuses.push(inside(readStatus));
    else if (tag === RESPONSE.headers) headers.push(inside(readHeader));
    else if (tag === RESPONSE.rawBody) body = Buffer.from(reader.text(), 'latin1');
    else reader.skip(tag);
  }
  return {
    ...(code !== undefined && { overall_code: code }),
    statuses,
    response_headers_to_add: headers,
    ...(body !== undefined && { raw_body: body }),
  };
}

function readStatus(): ReceivedStatus {
  const status: { -readonly [Name in keyof ReceivedStatus]: ReceivedStatus[Name] } = {};
  while (reader.more()) {
    const tag = reader.tag();
    if (tag === STATUS.code) status.code = reader.int32();
    else if (tag === STATUS.currentLimit) status.current_limit = inside(readLimit);
    else if (tag === STATUS.limitRemaining) status.limit_remaining = reader.uint32();
    else if (tag === STATUS.durationUntilReset) status.duration_until_reset = { seconds: inside(readSeconds) };
    else reader.skip(tag);
  }
  return status;
}

function readLimit(): ReceivedLimit {
  const limit: { -readonly [Name in keyof ReceivedLimit]: ReceivedLimit[Name] } = {};
  while (reader.more()) {
    const tag = reader.tag();
    if (tag === LIMIT.requestsPerUnit) limit.requests_per_unit = reader.uint32();
    else if (tag === LIMIT.unit) limit.unit = reader.int32();
    else if (tag === LIMIT.name) limit.name = readText();
    else if (tag === LIMIT.unitMultiplier) limit.unit_multiplier = { value: inside(readWrapped) };
    else reader.skip(tag);
  }
  return limit;
}

function readHeader(): ReceivedHeader {
  let [key, value] = ['', ''];
  while (reader.more()) {
    const tag = reader.tag();
    if (tag === HEADER.key) key = readText();
    else if (tag === HEADER.value) value = readText();
    else reader.skip(tag);
  }
  return { key, value };
}

function readSeconds(): number {
  let seconds = 0;
  while (reader.more()) {
    const tag = reader.tag();
    if (tag === SPAN.seconds) seconds = Number(BigInt.asIntN(64, BigInt(reader.uint64())));
    else reader.skip(tag);
  }
  return seconds;
}

function readWrapped(): number {
  let value = 0;
  while (reader.more()) {
    const tag = reader.tag();
    if (tag === WRAPPED.value) value = reader.uint32();
    else reader.skip(tag);
  }
  return value;
}

function readText(): string {
  return Buffer.from(reader.text(), 'latin1').toString();
}

/** Reads a submessage. */
function inside<Message>(read: () => Message): Message {
  const outer = reader.enter();
  const message = read();
  reader.leave(outer);
  return message;
}

function len(field: number): number {
  return (field << 3) | LENGTH_DELIMITED;
}

function varint(field: number): number {
  return (field << 3) | VARINT;
}
