/** Makes plain objects with wire names of described messages, for JSON and as a gRPC client gets them. */

import type { JsonObject, JsonValue } from '../../../domain/rule/rule';
import type { Describe, Field, FieldSink } from './message-fields';
import type { WireStruct, WireValue } from './wire';

type WireObject = Record<string, unknown>;

class ObjectSink implements FieldSink {
  readonly message: WireObject = {};
  /** The messages that have begun, outermost first. */
  private readonly open: WireObject[] = [this.message];

  number(field: Field, value: number): void {
    this.set(field, value);
  }

  text(field: Field, value: string): void {
    this.set(field, value);
  }

  utf8(field: Field, value: string): void {
    this.set(field, Buffer.from(value));
  }

  flag(field: Field, value: boolean): void {
    this.set(field, value);
  }

  struct(field: Field, json: JsonObject): void {
    this.set(field, toWireStruct(json));
  }

  begin(field: Field): number {
    const message: WireObject = {};
    this.set(field, message);
    return this.open.push(message);
  }

  end(): void {
    this.open.pop();
  }

  private set({ name, isRepeated }: Field, value: unknown): void {
    const message = this.open.at(-1) ?? this.message;
    const before = message[name];
    if (!isRepeated) message[name] = value;
    else if (Array.isArray(before)) before.push(value);
    else message[name] = [value];
  }
}

/** `Wire` is the message that the description belongs to; a list without items is absent. */
export function toWire<Source, Wire extends object>(describe: Describe<Source>, source: Source): Partial<Wire> {
  const sink = new ObjectSink();
  describe(sink, source);
  return sink.message as Partial<Wire>;
}

function toWireStruct(json: JsonObject): WireStruct {
  return { fields: Object.fromEntries(Object.entries(json).map(([name, value]) => [name, toWireValue(value)])) };
}

function toWireValue(json: JsonValue): WireValue {
  if (json === null) return { nullValue: 0 };
  if (typeof json === 'string') return { stringValue: json };
  if (typeof json === 'number') return { numberValue: json };
  if (typeof json === 'boolean') return { boolValue: json };
  return isList(json) ? { listValue: { values: json.map(toWireValue) } } : { structValue: toWireStruct(json) };
}

function isList(json: JsonValue): json is readonly JsonValue[] {
  return Array.isArray(json);
}
