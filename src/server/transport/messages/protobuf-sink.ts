/** Writes described messages as protobuf. */

import type { JsonObject, JsonValue } from '../../../domain/rule/rule';
import type { Describe, Field, FieldSink } from './message-fields';
import { WireWriter } from './wire-writer';

/** Field numbers of google.protobuf.Struct and what it holds. */
const STRUCT = { fields: 1 } as const;
const MAP = { key: 1, value: 2 } as const;
const VALUE = { nullValue: 1, numberValue: 2, stringValue: 3, boolValue: 4, structValue: 5, listValue: 6 } as const;
const LIST = { values: 1 } as const;

/** Shared, because encoding is synchronous. */
const writer = new WireWriter();

const sink: FieldSink = {
  number({ number }: Field, value: number): void {
    writer.number(number, value);
  },
  text({ number }: Field, value: string): void {
    writer.text(number, value);
  },
  utf8({ number }: Field, value: string): void {
    writer.text(number, value);
  },
  flag({ number }: Field, value: boolean): void {
    writer.number(number, value ? 1 : 0);
  },
  struct({ number }: Field, json: JsonObject): void {
    writeStruct(number, json);
  },
  begin({ number }: Field): number {
    return writer.begin(number);
  },
  end(start: number): void {
    writer.end(start);
  },
};

/** Writes every described field, defaults included. The result is valid until the next call. */
export function encode<Source>(describe: Describe<Source>, source: Source): Buffer {
  writer.reset();
  describe(sink, source);
  return writer.bytes();
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

function isList(json: JsonValue): json is readonly JsonValue[] {
  return Array.isArray(json);
}
