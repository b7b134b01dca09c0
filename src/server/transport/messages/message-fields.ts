/** Fields of the messages that Weir sends: each has a name, a number from proto/, and a form in JSON. */

import type { JsonObject } from '../../../domain/rule/rule';
import type { WireStruct, WireValue } from './wire';

export interface Field {
  /** As in proto/. */
  readonly name: string;
  /** The name in camelCase. */
  readonly jsonName: string;
  readonly number: number;
  readonly isRepeated: boolean;
  /** The form in protojson of a value of the wire; undefined: the default, which protojson omits. */
  readonly toJson: JsonForm<unknown>;
}

export type JsonForm<Value> = (value: Value) => unknown;

/** The fields of a message, by their names on the wire. */
export type Fields<Wire> = { readonly [Name in keyof Wire]-?: Field };

/** Number and form of a field; a list has the form of its items in a list of one. */
type FieldSpec<Value> = readonly [
  number: number,
  toJson: Value extends readonly (infer Item)[] ? readonly [JsonForm<Item>] : JsonForm<Value>,
];

type AnySpec = readonly [number: number, toJson: JsonForm<unknown> | readonly [JsonForm<unknown>]];

export function fieldsOf<Wire extends object>(specs: {
  readonly [Name in keyof Wire]-?: FieldSpec<NonNullable<Wire[Name]>>;
}): Fields<Wire> {
  const fields = Object.entries(specs as Readonly<Record<string, AnySpec>>).map(([name, [number, form]]): [string, Field] => {
    const isRepeated = typeof form !== 'function';
    const toJson = isRepeated ? (values: unknown) => (values as readonly unknown[]).map(form[0]) : form;
    return [name, { name, jsonName: camelCase(name), number, isRepeated, toJson }];
  });
  return Object.fromEntries(fields) as Fields<Wire>;
}

/** Receives the fields of a message, in their order. */
export interface FieldSink {
  /** A whole number from 0 to 2^53, or the number of an enum value. */
  number(field: Field, value: number): void;
  text(field: Field, value: string): void;
  /** A bytes field with a text in UTF-8. */
  utf8(field: Field, value: string): void;
  flag(field: Field, value: boolean): void;
  /** A google.protobuf.Struct. */
  struct(field: Field, json: JsonObject): void;
  /** Begins a message within this one; pass the result to `end`. */
  begin(field: Field): number;
  end(start: number): void;
}

/** Passes the fields of one message, read from its source, to a sink. */
export type Describe<Source> = (out: FieldSink, source: Source) => void;

/** The message in protojson: fields in the order of proto/, defaults omitted. */
export function toJson<Wire extends object>(fields: Fields<Wire>, message: Partial<Wire>): object {
  const json: Record<string, unknown> = {};
  for (const { name, jsonName, toJson: formOf } of Object.values<Field>(fields)) {
    const value = (message as Record<string, unknown>)[name];
    // JSON.stringify omits undefined.
    if (value !== undefined && value !== null) json[jsonName] = formOf(value);
  }
  return json;
}

export const UINT32: JsonForm<number> = (value) => (value === 0 ? undefined : value);

/** Wire numbers may already be strings of digits, as they are in protojson. */
export const UINT64: JsonForm<number | string> = (value) => (Number(value) === 0 ? undefined : String(value));

export const TEXT: JsonForm<string> = (value) => (value === '' ? undefined : value);

/** Bytes in base64. */
export const BYTES: JsonForm<Buffer> = (value) => (value.length === 0 ? undefined : value.toString('base64'));

export const FLAG: JsonForm<boolean> = (value) => (value ? true : undefined);

/** A wrapper message: its presence matters, so its default is not omitted. */
export const WRAPPED: JsonForm<{ readonly value: number }> = ({ value }) => value;

export function words(byNumber: ReadonlyMap<number, string>): JsonForm<number> {
  return (value) => byNumber.get(value);
}

export function nested<Wire extends object>(fields: Fields<Wire>): JsonForm<Wire> {
  return (message) => toJson(fields, message);
}

/** Seconds with as many decimals as needed. */
export const DURATION: JsonForm<{ readonly seconds?: number | string; readonly nanos?: number }> = ({ seconds = 0, nanos = 0 }) => {
  const fraction = nanos === 0 ? '' : `.${String(nanos).padStart(9, '0').replace(/0+$/, '')}`;
  return `${seconds}${fraction}s`;
};

export const STRUCT: JsonForm<WireStruct> = ({ fields }) =>
  Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, valueJson(value)]));

function valueJson({ stringValue, numberValue, boolValue, structValue, listValue }: WireValue): unknown {
  if (structValue !== undefined) return STRUCT(structValue);
  if (listValue !== undefined) return listValue.values.map(valueJson);
  return stringValue ?? numberValue ?? boolValue ?? null;
}

export function camelCase(name: string): string {
  return name.replace(/_([a-z])/g, (_match, letter: string) => letter.toUpperCase());
}
