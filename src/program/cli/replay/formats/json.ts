/** Reads lines of JSON; a name with dots is a path into objects. */

import { toText } from '../../../../domain/descriptor/byte-string';
import type { ByteString } from '../../../../domain/descriptor/descriptor';
import type { FieldReader, FieldValues } from './field-reader';

export type Json = string | number | boolean | null | undefined | readonly Json[] | JsonMap;

export interface JsonMap {
  readonly [name: string]: Json;
}

export interface JsonReaderOptions {
  readonly wanted: readonly string[];
  /** The text for a value that Envoy does not have, which counts as absent. */
  readonly absent?: string;
}

export class JsonReader implements FieldReader {
  private readonly paths: readonly (readonly string[])[];
  private readonly names: readonly string[];
  private readonly absent: string | undefined;

  constructor({ wanted, absent }: JsonReaderOptions) {
    this.names = wanted.map((name) => Buffer.from(name, 'utf8').toString('latin1'));
    this.paths = this.names.map((name) => name.split('.'));
    this.absent = absent;
  }

  read(text: ByteString, start: number, end: number, values: FieldValues): string | undefined {
    const json = parseLine(text, start, end);
    if (json === undefined) return 'is not JSON';
    if (!isObject(json)) return 'is not an object of JSON';
    for (let i = 0; i < this.names.length; i += 1) values[i] = this.valueOf(json, i);
    return undefined;
  }

  private valueOf(json: JsonMap, i: number): string | undefined {
    const name = this.names[i] ?? '';
    let found: Json = Object.hasOwn(json, name) ? json[name] : undefined;
    const path = this.paths[i] ?? [];
    if (found === undefined && path.length > 1) {
      found = json;
      for (const part of path) found = isObject(found) && Object.hasOwn(found, part) ? found[part] : undefined;
    }
    if (found === undefined || found === null || typeof found === 'object') return undefined;
    const text = typeof found === 'string' ? found : String(found);
    return text === this.absent ? undefined : text;
  }
}

/** The JSON of a line, with texts as byte strings; undefined: the line is not JSON. */
export function parseLine(text: ByteString, start: number, end: number): Json {
  // The marks of JSON are ASCII, so bytes can be parsed as they are. Only an escape names a character that may be several bytes.
  const line = text.slice(start, end);
  return line.includes('\\u') ? parse(toText(line), toBytes) : parse(line);
}

function parse(text: string, revive?: (key: string, value: Json) => Json): Json {
  try {
    return JSON.parse(text, revive) as Json;
  } catch {
    return undefined;
  }
}

function toBytes(_key: string, value: Json): Json {
  if (typeof value === 'string') return Buffer.from(value, 'utf8').toString('latin1');
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [Buffer.from(name, 'utf8').toString('latin1'), each]));
}

export function isObject(json: Json): json is JsonMap {
  return typeof json === 'object' && json !== null && !Array.isArray(json);
}
