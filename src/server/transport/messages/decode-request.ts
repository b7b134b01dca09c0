/** Decodes a rate limit request or reservation step directly from bytes, by the field numbers of the wire; texts are byte strings. */

import { FIELDS_MAX } from '../../../domain/descriptor/descriptor-bounds';
import type { ByteString } from '../../../domain/descriptor/descriptor';
import { BadRequestError } from '../../../lib/errors';
import { checkDescriptorCount, checkEntryCount } from './request';
import type { WireStep } from './reservation-messages';
import type { WireDescriptor, WireEntry, WireOverride, WireRequest, WireSpan, WireUint32, WireUint64 } from './wire';
import { LENGTH_DELIMITED, MalformedError, TooManyFieldsError, VARINT, WireReader } from './wire-reader';

/** A message while its fields are read; a submessage that comes twice is merged. */
type Writable<Message> = { -readonly [Field in keyof Message]: Message[Field] };

/** Tags of the fields in proto/: number and wire type. */
const REQUEST = { domain: len(1), descriptors: len(2), hitsAddend: varint(3) } as const;
const DESCRIPTOR = { entries: len(1), limit: len(2), hitsAddend: len(3), isNegativeHits: varint(4) } as const;
const ENTRY = { key: len(1), value: len(2) } as const;
const OVERRIDE = { requestsPerUnit: varint(1), unit: varint(2), unitMultiplier: len(3) } as const;
const WRAPPED = { value: varint(1) } as const;
const SPAN = { seconds: varint(1), nanos: varint(2) } as const;

/** Shared, because decoding is synchronous. */
const reader = new WireReader(FIELDS_MAX);

/** Never throws: returns why the message is invalid. Decoding stops at the first exceeded bound. */
export function decodeRequest(message: ByteString): WireRequest | BadRequestError {
  try {
    reader.begin(message);
    return readRequest();
  } catch (error) {
    if (error instanceof BadRequestError) return error;
    if (error instanceof TooManyFieldsError) return tooManyFields();
    return new BadRequestError('the message is not a valid envoy.service.ratelimit.v3.RateLimitRequest');
  }
}

/** Numbers of the fields that differ between steps; `domain` is 1 and `descriptors` is 2 in all of them. */
export interface StepFields {
  readonly id?: number;
  readonly hits?: number;
  readonly ttl?: number;
}

/** Never throws: returns why the message is invalid. */
export function decodeStep(message: ByteString, fields: StepFields): WireStep | BadRequestError {
  try {
    reader.begin(message);
    return readStep(fields);
  } catch (error) {
    if (error instanceof BadRequestError) return error;
    if (error instanceof TooManyFieldsError) return tooManyFields();
    return new BadRequestError('the message is not valid for this service; check the .proto of the client');
  }
}

function readRequest(): WireRequest {
  let domain = '';
  let hitsAddend = 0;
  let descriptors: WireDescriptor[] | undefined;
  while (reader.more()) {
    const tag = reader.tag();
    if (tag === REQUEST.domain) {
      domain = reader.text();
    } else if (tag === REQUEST.descriptors) {
      descriptors = withMore(descriptors, readDescriptor(descriptors?.length ?? 0));
    } else if (tag === REQUEST.hitsAddend) {
      hitsAddend = reader.uint32();
    } else {
      skipUnknown(tag, 3);
    }
  }
  return { domain, descriptors: descriptors ?? [], hits_addend: hitsAddend };
}

function readStep({ id: idField = 0, hits: hitsField = 0, ttl: ttlField = 0 }: StepFields): WireStep {
  const [idTag, hitsTag, ttlTag, last] = [len(idField), varint(hitsField), len(ttlField), Math.max(2, idField, hitsField, ttlField)];
  let domain = '';
  let descriptors: WireDescriptor[] = [];
  let id = '';
  let hits: string | undefined;
  let ttl: Writable<WireSpan> | undefined;
  while (reader.more()) {
    const tag = reader.tag();
    if (tag === REQUEST.domain) domain = reader.text();
    else if (tag === REQUEST.descriptors) descriptors = withMore(descriptors, readDescriptor(descriptors.length));
    else if (tag === idTag) id = Buffer.from(reader.text(), 'latin1').toString();
    else if (tag === hitsTag) hits = reader.uint64();
    else if (tag === ttlTag) ttl = readSpan(ttl ?? {});
    else skipUnknown(tag, last);
  }
  return { domain, descriptors, id, ...(hits !== undefined && { hits }), ...(ttl !== undefined && { ttl }) };
}

function readSpan(span: Writable<WireSpan>): WireSpan {
  const outer = reader.enter();
  while (reader.more()) {
    const tag = reader.tag();
    if (tag === SPAN.seconds) span.seconds = BigInt.asIntN(64, BigInt(reader.uint64())).toString();
    else if (tag === SPAN.nanos) span.nanos = reader.int32();
    else skipUnknown(tag, 2);
  }
  reader.leave(outer);
  return span;
}

/** @throws BadRequestError if there are too many. `index` is the descriptor's. */
function readDescriptor(index: number): WireDescriptor {
  checkDescriptorCount(index + 1);
  const outer = reader.enter();
  let entries: WireEntry[] | undefined;
  let more: Writable<WireDescriptor> | undefined;
  while (reader.more()) {
    const tag = reader.tag();
    if (tag === DESCRIPTOR.entries) {
      checkEntryCount((entries?.length ?? 0) + 1, index);
      entries = withMore(entries, readEntry());
    } else if (tag === DESCRIPTOR.limit) {
      more ??= {};
      more.limit = readOverride(more.limit ?? {});
    } else if (tag === DESCRIPTOR.hitsAddend) {
      more ??= {};
      more.hits_addend = readUint64(more.hits_addend ?? {});
    } else if (tag === DESCRIPTOR.isNegativeHits) {
      more ??= {};
      more.is_negative_hits = reader.bool();
    } else {
      skipUnknown(tag, 4);
    }
  }
  reader.leave(outer);
  return more === undefined ? { entries: entries ?? [] } : { entries: entries ?? [], ...more };
}

function readEntry(): WireEntry {
  const outer = reader.enter();
  let key = '';
  let value = '';
  while (reader.more()) {
    const tag = reader.tag();
    if (tag === ENTRY.key) key = reader.text();
    else if (tag === ENTRY.value) value = reader.text();
    else skipUnknown(tag, 2);
  }
  reader.leave(outer);
  return { key, value };
}

function readOverride(override: Writable<WireOverride>): WireOverride {
  const outer = reader.enter();
  while (reader.more()) {
    const tag = reader.tag();
    if (tag === OVERRIDE.requestsPerUnit) override.requests_per_unit = reader.uint32();
    else if (tag === OVERRIDE.unit) override.unit = reader.int32();
    else if (tag === OVERRIDE.unitMultiplier) override.unit_multiplier = readUint32(override.unit_multiplier ?? {});
    else skipUnknown(tag, 3);
  }
  reader.leave(outer);
  return override;
}

function readUint32(wrapped: Writable<WireUint32>): WireUint32 {
  const outer = reader.enter();
  while (reader.more()) {
    const tag = reader.tag();
    if (tag === WRAPPED.value) wrapped.value = reader.uint32();
    else skipUnknown(tag, 1);
  }
  reader.leave(outer);
  return wrapped;
}

function readUint64(wrapped: Writable<WireUint64>): WireUint64 {
  const outer = reader.enter();
  while (reader.more()) {
    const tag = reader.tag();
    if (tag === WRAPPED.value) wrapped.value = reader.uint64();
    else skipUnknown(tag, 1);
  }
  reader.leave(outer);
  return wrapped;
}

/** Returns a longer list. Not `push`, because V8 then reserves room for 17 items, and most lists have one or two. */
function withMore<Item extends object>(list: Item[] | undefined, item: Item): Item[] {
  if (list === undefined) return [item];
  const [first] = list;
  if (first !== undefined && list.length === 1) return [first, item];
  list.push(item);
  return list;
}

function tooManyFields(): BadRequestError {
  return new BadRequestError(`the message has over ${FIELDS_MAX} fields; send fewer`);
}

/** `last` is the highest number of a known field; the numbers up to it are all known. */
function skipUnknown(tag: number, last: number): void {
  if (tag >>> 3 <= last) throw new MalformedError('a known field with another wire type');
  reader.skip(tag);
}

function len(field: number): number {
  return (field << 3) | LENGTH_DELIMITED;
}

function varint(field: number): number {
  return (field << 3) | VARINT;
}
