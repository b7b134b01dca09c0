/** Descriptors as text, as `weir explain --descriptor` reads them: `key=value,key=value`, with a backslash before a comma, `=` or backslash. */

import type { Entry } from '../../admin-client/operations';

export class DescriptorTextError extends Error {
  override readonly name = 'DescriptorTextError';
}

/** The text between two commas. */
const ENTRY = /(?:[^,\\]|\\.)+/gsu;

/** @throws DescriptorTextError */
export function readDescriptor(text: string): Entry[] {
  const entries = Array.from(text.matchAll(ENTRY), ([entry]) => readEntry(entry));
  if (entries.length === 0) throw new DescriptorTextError('the descriptor is empty; write key=value,key=value');
  return entries;
}

function readEntry(text: string): Entry {
  const [, key = '', equals = '', value = ''] = /^((?:[^=\\]|\\.)*)(=?)(.*)$/su.exec(text) ?? [];
  if (key.trim() === '')
    throw new DescriptorTextError(`"${text}" has no key; write key=value, and \\= and \\, for = and , in a key or value`);
  if (equals === '') throw new DescriptorTextError(`"${text}" has no value; write ${text}=VALUE, or ${text}= for an empty value`);
  return { key: unescape(key.trim()), value: unescape(value) };
}

export function writeDescriptor(entries: readonly Entry[]): string {
  return entries.map(({ key, value }) => `${escape(key)}=${escape(value)}`).join(',');
}

/** Without escapes, for people. */
export function showDescriptor(entries: readonly Entry[]): string {
  return entries.map(({ key, value }) => `${key}=${value}`).join(', ');
}

/** A text of top keys that was cut, and ends with a part of its hash, names no descriptor. */
export function isCut(text: string): boolean {
  return /~[0-9a-f]{16}(?:,|$)/.test(text);
}

const UNPRINTABLE = /[\p{C}\p{Zl}\p{Zp}\uFFFD]/u;

/** As texts of top keys: with an unprintable character, all bytes beyond ASCII are `\xHH`. */
function escape(text: string): string {
  const escaped = text.replace(/[\\,=]/g, '\\$&');
  if (!UNPRINTABLE.test(escaped)) return escaped;
  return Array.from(new TextEncoder().encode(escaped), (byte) =>
    byte >= 0x20 && byte <= 0x7e ? String.fromCharCode(byte) : `\\x${byte.toString(16).padStart(2, '0')}`,
  ).join('');
}

function unescape(text: string): string {
  return text.replace(/((?:\\x[0-9a-f]{2})+)|\\(.)/gisu, (_, bytes: string | undefined, character: string | undefined) =>
    bytes === undefined
      ? (character ?? '')
      : new TextDecoder().decode(Uint8Array.from(bytes.match(/[0-9a-f]{2}/gi) ?? [], (hex) => parseInt(hex, 16))),
  );
}
