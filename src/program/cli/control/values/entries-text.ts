/** Entries on the command line: `key=value,key=value`, and with `key` alone for any value. */

import type { Entry, SelectorEntry } from '../../../../administration/admin-client/operations';
import { toText } from '../../../../domain/descriptor/byte-string';
import { readDescriptors } from '../../read-descriptor';
import { UsageError } from '../../usage-error';

export const ENTRIES_OPTION = {
  entries: {
    type: 'string',
    form: 'KEY=VALUE,KEY',
    required: true,
    help: 'selects descriptors that contain all of these entries; KEY alone: with any value',
  },
} as const;

/** The text between two commas; a backslash escapes the next character. */
const ENTRY = /(?:[^,\\]|\\.)+/gs;

/**
 * Reads `--entries`.
 *
 * @throws UsageError
 */
export function readSelector(text: string): readonly SelectorEntry[] {
  return Array.from(text.matchAll(ENTRY), ([entry]) => {
    const [, key = '', equals = '', value = ''] = /^((?:[^=\\]|\\.)*)(=?)(.*)$/s.exec(entry) ?? [];
    if (key === '') throw new UsageError(`--entries: ${JSON.stringify(entry)} has no key; write KEY=VALUE, or KEY for any value`);
    return { key: unescape(key), ...(equals !== '' && { value: unescape(value) }) };
  });
}

/**
 * Reads the `--descriptor` options.
 *
 * @throws UsageError
 */
export function readDescriptorTexts(texts: readonly string[]): readonly { readonly entries: readonly Entry[] }[] {
  return readDescriptors('--descriptor', texts).map((entries) => ({
    entries: entries.map(({ key, value }) => ({ key: toText(key), value: toText(value) })),
  }));
}

/**
 * Reads the one `--descriptor` of a command.
 *
 * @throws UsageError
 */
export function readDescriptorText(text: string): readonly Entry[] {
  const [descriptor] = readDescriptorTexts([text]);
  return descriptor?.entries ?? [];
}

/** The reverse of reading. */
export function showEntries(entries: readonly SelectorEntry[]): string {
  const escape = (text: string, special: RegExp): string => text.replace(special, '\\$&');
  return entries.map(({ key, value }) => `${escape(key, /[,=\\]/g)}${value === undefined ? '' : `=${escape(value, /[,\\]/g)}`}`).join(',');
}

/** Entries in a query of the API: with percent signs for special characters. */
export function selectorText(text: string): string {
  return readSelector(text)
    .map(({ key, value }) => `${encodeURIComponent(key)}${value === undefined ? '' : `=${encodeURIComponent(value)}`}`)
    .join(',');
}

function unescape(text: string): string {
  return text.replaceAll(/\\(.)/gs, '$1');
}
