/** A response of the rate limit service on one line, as Go prints messages. */

import { UNIT_NAMES } from '../rule/unit';
import { WIRE_UNITS, type WireResponse } from '../transport/wire';

const CODES = new Map([[1, 'OK'], [2, 'OVER_LIMIT']]);
const UNITS = new Map(UNIT_NAMES.map((unit) => [WIRE_UNITS[unit], unit.toUpperCase()]));

/** Fields that are numbers on the wire, and words here. */
const WORDS: Readonly<Record<string, ReadonlyMap<number, string>>> = { overall_code: CODES, code: CODES, unit: UNITS };

/** 64-bit numbers, which come as digits. */
const DIGITS: readonly string[] = ['seconds'];

export function formatProtoText(response: WireResponse): string {
  return fieldsOf(response);
}

function fieldsOf(message: object): string {
  return Object.entries(message).flatMap(([name, value]: [string, unknown]) => fieldOf(name, value)).join(' ');
}

/** Defaults are left out, as on the wire. */
function fieldOf(name: string, value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap((item: unknown) => fieldOf(name, item));
  if (typeof value === 'object' && value !== null) return [`${name}:{${fieldsOf(value)}}`];
  if (typeof value === 'string') return value === '' ? [] : [`${name}:${DIGITS.includes(name) ? value : JSON.stringify(value)}`];
  if (typeof value === 'number') return value === 0 ? [] : [`${name}:${WORDS[name]?.get(value) ?? value}`];
  return typeof value === 'boolean' && value ? [`${name}:true`] : [];
}
