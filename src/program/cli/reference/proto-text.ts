/** Formats a response of the rate limit service on one line, as Go prints messages. */

import { CODE_WORDS, UNIT_WORDS, type WireResponse } from '../../../server/transport/messages/wire';

/** Enum fields, printed by name. */
const WORDS: Readonly<Record<string, ReadonlyMap<number, string>>> = { overall_code: CODE_WORDS, code: CODE_WORDS, unit: UNIT_WORDS };

/** 64-bit fields, which arrive as strings of digits. */
const DIGITS: readonly string[] = ['seconds'];

export function formatProtoText(response: WireResponse): string {
  return fieldsOf(response);
}

function fieldsOf(message: object): string {
  return Object.entries(message)
    .flatMap(([name, value]: [string, unknown]) => fieldOf(name, value))
    .join(' ');
}

/** Omits defaults, as the wire format does. */
function fieldOf(name: string, value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap((item: unknown) => fieldOf(name, item));
  if (typeof value === 'object' && value !== null) return [`${name}:{${fieldsOf(value)}}`];
  if (typeof value === 'string') return value === '' ? [] : [`${name}:${DIGITS.includes(name) ? value : JSON.stringify(value)}`];
  if (typeof value === 'number') return value === 0 ? [] : [`${name}:${WORDS[name]?.get(value) ?? value}`];
  return typeof value === 'boolean' && value ? [`${name}:true`] : [];
}
