/** Parses requests in JSON (protojson), for /json and reservations over HTTP. */

import { toByteString } from '../../../domain/descriptor/byte-string';
import { didYouMean } from '../../../lib/text/did-you-mean';
import { BadRequestError } from '../../../lib/errors';
import { UINT32_MAX } from '../../../domain/rule/limit';
import { camelCase } from './message-fields';
import { UNIT_WORDS, type WireDescriptor, type WireEntry, type WireOverride, type WireRequest } from './wire';

/** Reads one JSON value; `path`, such as `descriptors[0].limit`, is for error messages. */
export type Reader<T> = (json: unknown, path: string) => T;

/** A reader for each field, by wire name; JSON may have that name or its camelCase form. */
export type Shape<T> = { readonly [Field in keyof T]-?: Reader<NonNullable<T[Field]>> };

const UINT64_MAX = 2n ** 64n - 1n;

// Bounds what an error message repeats of the caller's text.
const NAME_CHARS_SHOWN_MAX = 64;

const UNIT_NUMBERS: ReadonlyMap<string, number> = new Map(Array.from(UNIT_WORDS, ([number, word]) => [word, number]));

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

/** @throws BadRequestError that names the path of the invalid value */
export function parseRequest(body: Uint8Array): WireRequest {
  return readRequest(parseJson(body, 'RateLimitRequest'), '');
}

/** Every message with a body has these fields. */
const EXAMPLE_BODY = '{"domain":"shop","descriptors":[{"entries":[{"key":"user","value":"ann"}]}]}';

/** @throws BadRequestError. `name` is the message expected in the body. */
export function parseJson(body: Uint8Array, name: string): unknown {
  if (body.length === 0) throw new BadRequestError(`the body is empty; post a ${name} as JSON, such as ${EXAMPLE_BODY}`);
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body));
  } catch {
    throw new BadRequestError(`the body is not JSON in UTF-8; post a ${name}, such as ${EXAMPLE_BODY}`);
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
      if (field === undefined) throw unknownField(fieldPath, meantBy(name, fields));
      if (field in result) throw new BadRequestError(`${fieldPath} is given twice; remove one`);
      // null counts as absent.
      if (value !== null) result[field] = shape[field](value, fieldPath);
    }
    // Every field of a wire message is optional.
    return result as T;
  };
}

/** Names that people write for fields, and no edit distance finds. */
const OTHER_NAMES: Readonly<Record<string, string>> = { hits: 'hits_addend', cost: 'hits_addend', weight: 'hits_addend' };

function meantBy(name: string, fields: ReadonlyMap<string, string>): string | undefined {
  const other = OTHER_NAMES[name];
  if (other !== undefined && fields.has(other)) return other;
  return didYouMean(name.slice(0, NAME_CHARS_SHOWN_MAX), [...new Set(fields.values())]);
}

function unknownField(path: string, meant: string | undefined): BadRequestError {
  if (meant === undefined) return new BadRequestError(`${path} is not a known field; remove it`);
  return new BadRequestError(`${path} is not a known field; did you mean ${meant}?`);
}

export function list<T>(read: Reader<T>): Reader<T[]> {
  return (json, path) => {
    if (!Array.isArray(json)) throw wrong(path, 'a list');
    return json.map((item: unknown, index) => read(item, `${path}[${index}]`));
  };
}

export function readText(json: unknown, path: string): string {
  if (typeof json !== 'string') throw wrong(path, 'a string');
  // UTF-8 cannot encode surrogate halves: all of them would become the same text.
  if (/\p{Cs}/u.test(json)) throw wrong(path, 'a string without halves of surrogate pairs');
  return toByteString(json);
}

function readBoolean(json: unknown, path: string): boolean {
  if (typeof json !== 'boolean') throw wrong(path, 'true or false');
  return json;
}

function readUint32(json: unknown, path: string): number {
  const value = readInteger(json);
  if (value === undefined || value > BigInt(UINT32_MAX))
    throw wrong(path, `a whole number from 0 to ${UINT32_MAX}${refundAdvice(json, path)}`);
  return Number(value);
}

function refundAdvice(json: unknown, path: string): string {
  const isRefund = typeof json === 'number' && json < 0 && path.endsWith('hits_addend');
  return isRefund ? '; to give hits back, set is_negative_hits of the descriptor' : '';
}

export function readUint64(json: unknown, path: string): string {
  const value = readInteger(json);
  if (value === undefined || value > UINT64_MAX)
    throw wrong(path, `a whole number from 0 to ${UINT64_MAX.toString()}${refundAdvice(json, path)}`);
  return value.toString();
}

/** The JSON form of a number as a string, of bounded length. */
const NUMBER_TEXT = /^(?=.{1,64}$)(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?$/;

/** Reads a number, or a number as a string, because JSON numbers may lose digits. Undefined: neither, or negative. */
function readInteger(json: unknown): bigint | undefined {
  if (typeof json === 'number') {
    if (!Number.isInteger(json) || json < 0) return undefined;
    // JSON.parse rounds the largest uint64, written as a number, up to 2^64.
    return json === 2 ** 64 ? UINT64_MAX : BigInt(json);
  }
  if (typeof json !== 'string' || !NUMBER_TEXT.test(json)) return undefined;
  // Twenty digits hold every uint64; longer texts are out of range anyway.
  return /^\d{1,20}$/.test(json) ? BigInt(json) : readInteger(Number(json));
}

/** Accepts any number, because enums are open; `toRequest` checks it. */
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
