/** The fields of a message in protobuf, as protobufjs knows them: read all at once, or passed over one by one. */

import type { Reader, Type } from 'protobufjs';

/** Of the wire types, that of messages. */
const LENGTH_DELIMITED = 2;

/** What each of its values begins with, if these are messages. Throws if there is no such field. */
export function tagOf(type: Type, field: string): number {
  const { id } = type.fields[field] ?? {};
  if (id === undefined) throw new Error(`${type.name} has no field ${field}`);
  return (id << 3) | LENGTH_DELIMITED;
}

/** Enums stay numbers, absent fields absent. */
export function decode(type: Type, bytes: Uint8Array): object {
  return type.toObject(type.decode(bytes));
}

/** Answers where the value begins: behind its length, if it has one. */
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
