/** Reads fields of protobuf messages with protobufjs: decodes whole messages, or skips single fields. */

import type { Reader, Type } from 'protobufjs';

/** The wire type of messages. */
const LENGTH_DELIMITED = 2;

/** The tag of a field of message type. Throws if the message has no such field. */
export function tagOf(type: Type, field: string): number {
  const { id } = type.fields[field] ?? {};
  if (id === undefined) throw new Error(`${type.name} has no field ${field}`);
  return (id << 3) | LENGTH_DELIMITED;
}

/** Enums stay numbers, absent fields absent. */
export function decode(type: Type, bytes: Uint8Array): object {
  return type.toObject(type.decode(bytes));
}

/** Returns the start of the value, after its length if it has one. */
export function skipValue(reader: Reader, tag: number): number {
  const wireType = tag & 7;
  if (wireType !== LENGTH_DELIMITED) {
    const from = reader.pos;
    reader.skipType(wireType);
    return from;
  }
  const length = reader.uint32();
  const from = reader.pos;
  reader.skip(length);
  return from;
}
