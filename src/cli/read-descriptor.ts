/** Reads a descriptor as it is given on a command line: `key=value,key=value`. */

import { DESCRIPTORS_MAX, ENTRIES_MAX } from '../descriptor/bounds';
import { toByteString } from '../descriptor/byte-string';
import type { Entry } from '../descriptor/descriptor';
import { UsageError } from './usage-error';

/** What stands between two commas; a backslash takes the next character as it is. */
const ENTRY = /(?:[^,\\]|\\.)+/gs;

/** At least one; `option` is what they were given with, for messages. */
export function readDescriptors(option: string, texts: readonly string[]): Entry[][] {
  if (texts.length === 0) throw new UsageError(`${option} is missing; give key=value,key=value, and the option again for each further descriptor`);
  if (texts.length > DESCRIPTORS_MAX) throw new UsageError(`${option} is given ${texts.length} times; a request has at most ${DESCRIPTORS_MAX} descriptors`);
  return texts.map((text) => {
    const entries = Array.from(text.matchAll(ENTRY), ([entry]) => readEntry(option, entry));
    if (entries.length === 0) throw new UsageError(`${option} is empty; give key=value,key=value`);
    if (entries.length > ENTRIES_MAX) throw new UsageError(`${option} has ${entries.length} entries; a descriptor has at most ${ENTRIES_MAX}`);
    return entries;
  });
}

/** The first `=` ends the key; a key alone has the empty value. */
function readEntry(option: string, text: string): Entry {
  const [, key = '', value = ''] = /^((?:[^=\\]|\\.)*)=?(.*)$/s.exec(text) ?? [];
  if (key === '') throw new UsageError(`${option}: ${JSON.stringify(text)} has no key; give key=value, and write \\= and \\, for = and , in a key or value`);
  return { key: toByteString(unescape(key)), value: toByteString(unescape(value)) };
}

function unescape(text: string): string {
  return text.replaceAll(/\\(.)/gs, '$1');
}
