/** The JSON form of the rate limit messages (protojson), for /json: text to wire request, wire response to text. */

import { toByteString } from '../descriptor/byte-string';
import { BadRequestError } from '../errors';
import { UINT32_MAX } from '../rule/limit';
import { UNIT_NAMES } from '../rule/unit';
import { WIRE_UNITS, type WireDescriptor, type WireEntry, type WireOverride, type WireRequest, type WireHeader, type WireResponse, type WireStatus, type WireStruct, type WireValue } from './wire';

/** Reads one JSON value; the path, such as `descriptors[0].limit`, is for messages. */
export type Reader<T> = (json: unknown, path: string) => T;

/** A reader for each field, by its wire name; the JSON may have that or its camelCase. */
export type Shape<T> = { readonly [Field in keyof T]-?: Reader<NonNullable<T[Field]>> };

const UINT64_MAX = 2n ** 64n - 1n;

// A limit on what a message repeats of a caller's own text.
const NAME_CHARS_SHOWN_MAX = 64;

const UNIT_NUMBERS: ReadonlyMap<string, number> = new Map([
  ['UNKNOWN', 0],
  ...UNIT_NAMES.map((unit) => [unit.toUpperCase(), WIRE_UNITS[unit]] as const),
]);

const UNIT_WORDS: ReadonlyMap<number, string> = new Map([...UNIT_NUMBERS].map(([word, number]) => [number, word]));

const readEntry = message<WireEntry>({ key: readText, value: readText });

const readOverride = message<WireOverride>({
  requests_per_unit: readUint32,
  unit: readUnit,
  unit_multiplier: (json, path) => ({ value: readUint32(json, path) }),
});

export const readDescriptor = message<WireDescriptor>({
  entries: list(readEntry),
  limit: readOverride,
  hits_addend: (json, path) => ({ value: readUint64(json, path) }),
  is_negative_hits: readBoolean,
});

const readRequest = message<WireRequest>({
  domain: readText,
  descriptors: list(readDescriptor),
  hits_addend: readUint32,
});

/** @throws BadRequestError that names the path of what is wrong. */
export function parseRequest(body: Uint8Array): WireRequest {
  return readRequest(parseJson(body, 'RateLimitRequest'), '');
}

/** @throws BadRequestError. `name`: of the message that is to be sent. */
export function parseJson(body: Uint8Array, name: string): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body));
  } catch {
    throw new BadRequestError(`the body is no JSON in UTF-8; send a ${name} as protojson writes it`);
  }
}

export function message<T extends object>(shape: Shape<T>): Reader<T> {
  const fields = new Map<string, keyof T & string>();
  for (const field in shape) fields.set(field, field).set(camelCase(field), field);
  return (json, path) => {
    if (typeof json !== 'object' || json === null || Array.isArray(json)) throw wrong(path, 'an object');
    const result: Partial<T> = {};
    for (const [name, value] of Object.entries(json)) {
      const field = fields.get(name);
      const fieldPath = join(path, name.slice(0, NAME_CHARS_SHOWN_MAX));
      if (field === undefined) throw new BadRequestError(`${fieldPath} is no known field; take it out`);
      if (field in result) throw new BadRequestError(`${fieldPath} is given twice; take one out`);
      // null is the same as absent.
      if (value !== null) result[field] = shape[field](value, fieldPath);
    }
    // Every field of a wire message may be absent.
    return result as T;
  };
}

export function list<T>(read: Reader<T>): Reader<T[]> {
  return (json, path) => {
    if (!Array.isArray(json)) throw wrong(path, 'a list');
    return json.map((item: unknown, index) => read(item, `${path}[${index}]`));
  };
}

export function readText(json: unknown, path: string): string {
  if (typeof json !== 'string') throw wrong(path, 'a string');
  // UTF-8 has no bytes for one: all of them would be the same text.
  if (/\p{Cs}/u.test(json)) throw wrong(path, 'a string without halves of surrogate pairs');
  return toByteString(json);
}

function readBoolean(json: unknown, path: string): boolean {
  if (typeof json !== 'boolean') throw wrong(path, 'true or false');
  return json;
}

function readUint32(json: unknown, path: string): number {
  const value = readInteger(json);
  if (value === undefined || value > BigInt(UINT32_MAX)) throw wrong(path, `a whole number from 0 to ${UINT32_MAX}`);
  return Number(value);
}

export function readUint64(json: unknown, path: string): string {
  const value = readInteger(json);
  if (value === undefined || value > UINT64_MAX) throw wrong(path, `a whole number from 0 to ${UINT64_MAX.toString()}`);
  return value.toString();
}

/** A number of JSON as a string, of no more characters than anyone writes. */
const NUMBER_TEXT = /^(?=.{1,64}$)(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?$/;

/** A number, or one as a string since JSON numbers may lose digits; undefined if it is neither or negative. */
function readInteger(json: unknown): bigint | undefined {
  if (typeof json === 'number') {
    if (!Number.isInteger(json) || json < 0) return undefined;
    // The largest uint64, written as a number, is rounded up to 2^64 before anyone sees it.
    return json === 2 ** 64 ? UINT64_MAX : BigInt(json);
  }
  if (typeof json !== 'string' || !NUMBER_TEXT.test(json)) return undefined;
  // Twenty digits hold every uint64; reading more would be work for nothing.
  return /^\d{1,20}$/.test(json) ? BigInt(json) : readInteger(Number(json));
}

/** Any number is taken, since the wire's enums are open; whether it means something is for `toRequest` to say. */
function readUnit(json: unknown, path: string): number {
  const unit = typeof json === 'string' ? UNIT_NUMBERS.get(json) : json;
  if (typeof unit !== 'number' || !Number.isInteger(unit)) throw wrong(path, 'SECOND, MINUTE, HOUR, DAY, WEEK, MONTH, YEAR or its number');
  return unit;
}

export function wrong(path: string, expected: string): BadRequestError {
  return new BadRequestError(`${path === '' ? 'the body' : path} must be ${expected}`);
}

function join(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`;
}

function camelCase(field: string): string {
  return field.replace(/_([a-z])/g, (_match, letter: string) => letter.toUpperCase());
}

/** One line of JSON, fields in wire order, defaults left out. */
export function formatResponse(response: WireResponse): string {
  return JSON.stringify({
    overallCode: codeWord(response.overall_code),
    statuses: statusesJson(response),
    responseHeadersToAdd: response.response_headers_to_add?.map(headerJson),
    dynamicMetadata: response.dynamic_metadata && structJson(response.dynamic_metadata),
  });
}

/** The statuses of a response as protojson has them. */
export function statusesJson({ statuses }: Pick<WireResponse, 'statuses'>): readonly object[] {
  return statuses.map(statusJson);
}

function headerJson({ key, value }: WireHeader): object {
  return { key, value };
}

function structJson({ fields }: WireStruct): object {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, valueJson(value)]));
}

function valueJson({ stringValue, numberValue, boolValue, structValue, listValue }: WireValue): unknown {
  if (structValue !== undefined) return structJson(structValue);
  if (listValue !== undefined) return listValue.values.map(valueJson);
  return stringValue ?? numberValue ?? boolValue ?? null;
}

function statusJson({ code, current_limit: limit, limit_remaining: remaining, duration_until_reset: reset }: WireStatus): object {
  // JSON.stringify leaves out what is undefined.
  return {
    code: codeWord(code),
    currentLimit: limit && {
      requestsPerUnit: limit.requests_per_unit === 0 ? undefined : limit.requests_per_unit,
      unit: UNIT_WORDS.get(limit.unit),
      name: limit.name,
      unitMultiplier: limit.unit_multiplier?.value,
    },
    limitRemaining: remaining === 0 ? undefined : remaining,
    durationUntilReset: reset && `${reset.seconds}s`,
  };
}

export function codeWord(code: WireResponse['overall_code']): string {
  return code === 1 ? 'OK' : 'OVER_LIMIT';
}
