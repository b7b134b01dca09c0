/** From bytes to the wire's request, without a step between: each field where the wire has it, text as its bytes. */

import { DESCRIPTORS_MAX, ENTRIES_MAX } from '../../descriptor/bounds';
import type { ByteString } from '../../descriptor/descriptor';
import { BadRequestError } from '../../errors';
import { checkDescriptorCount, checkEntryCount } from '../request';
import type { WireDescriptor, WireEntry, WireOverride, WireRequest, WireUint32, WireUint64 } from '../wire';
import { LENGTH_DELIMITED, MalformedError, VARINT, WireReader } from './wire-reader';

/** What is read field by field, and merged when a submessage comes twice. */
type Writable<Message> = { -readonly [Field in keyof Message]: Message[Field] };

/** Tags of the fields, from proto/: number and wire type. */
const REQUEST = { domain: len(1), descriptors: len(2), hitsAddend: varint(3) } as const;
const DESCRIPTOR = { entries: len(1), limit: len(2), hitsAddend: len(3), isNegativeHits: varint(4) } as const;
const ENTRY = { key: len(1), value: len(2) } as const;
const OVERRIDE = { requestsPerUnit: varint(1), unit: varint(2), unitMultiplier: len(3) } as const;
const WRAPPED = { value: varint(1) } as const;

/** Nothing is read while something else is: one cursor does for all. */
const reader = new WireReader();

/**
 * Never throws: answers why there is no request. Descriptors and entries beyond their bounds are counted and not made, or
 * millions of empty ones would be millions of objects.
 */
export function decodeRequest(message: ByteString): WireRequest | BadRequestError {
  try {
    reader.begin(message);
    return readRequest();
  } catch (error) {
    if (error instanceof BadRequestError) return error;
    return new BadRequestError('the message is no envoy.service.ratelimit.v3.RateLimitRequest');
  }
}

function readRequest(): WireRequest {
  let domain = '';
  let hitsAddend = 0;
  let count = 0;
  let descriptors: WireDescriptor[] | undefined;
  while (reader.more()) {
    const tag = reader.tag();
    if (tag === REQUEST.domain) {
      domain = reader.text();
    } else if (tag === REQUEST.descriptors) {
      count += 1;
      if (count > DESCRIPTORS_MAX) reader.skip(tag);
      else descriptors = withMore(descriptors, readDescriptor(count - 1));
    } else if (tag === REQUEST.hitsAddend) {
      hitsAddend = reader.uint32();
    } else {
      skipUnknown(tag, 3);
    }
  }
  checkDescriptorCount(count);
  return { domain, descriptors: descriptors ?? [], hits_addend: hitsAddend };
}

function readDescriptor(index: number): WireDescriptor {
  const outer = reader.enter();
  let count = 0;
  let entries: WireEntry[] | undefined;
  let more: Writable<WireDescriptor> | undefined;
  while (reader.more()) {
    const tag = reader.tag();
    if (tag === DESCRIPTOR.entries) {
      count += 1;
      if (count > ENTRIES_MAX) reader.skip(tag);
      else entries = withMore(entries, readEntry());
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
  checkEntryCount(count, index);
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

/** The list with one more. Where it is pushed V8 makes room for 17, and most lists have one or two. */
function withMore<Item extends object>(list: Item[] | undefined, item: Item): Item[] {
  if (list === undefined) return [item];
  const [first] = list;
  if (first !== undefined && list.length === 1) return [first, item];
  list.push(item);
  return list;
}

/** `last` is the highest number of a known field; all up to it are known. */
function skipUnknown(tag: number, last: number): void {
  if (tag >>> 3 <= last) throw new MalformedError('a field under another wire type');
  reader.skip(tag);
}

function len(field: number): number {
  return (field << 3) | LENGTH_DELIMITED;
}

function varint(field: number): number {
  return (field << 3) | VARINT;
}
