/** Reads a descriptor from the command line: `key=value,key=value`. */

import { DESCRIPTORS_MAX, ENTRIES_MAX } from '../../domain/descriptor/descriptor-bounds';
import { toByteString } from '../../domain/descriptor/byte-string';
import type { Entry } from '../../domain/descriptor/descriptor';
import { UsageError } from './usage-error';

/** The text between two commas; a backslash escapes the next character. */
const ENTRY = /(?:[^,\\]|\\.)+/gs;

/** Returns at least one descriptor. `option` is the option's name, for messages. */
export function readDescriptors(option: string, texts: readonly string[]): Entry[][] {
  if (texts.length === 0)
    throw new UsageError(`${option} is missing; give key=value,key=value, and the option again for each further descriptor`);
  if (texts.length > DESCRIPTORS_MAX)
    throw new UsageError(`${option} is given ${texts.length} times; a request has at most ${DESCRIPTORS_MAX} descriptors`);
  return texts.map((text) => {
    const entries = Array.from(text.matchAll(ENTRY), ([entry]) => readEntry(option, entry));
    if (entries.length === 0) throw new UsageError(`${option} is empty; give key=value,key=value`);
    if (entries.length > ENTRIES_MAX)
      throw new UsageError(`${option} has ${entries.length} entries; a descriptor has at most ${ENTRIES_MAX}`);
    return entries;
  });
}

/** The advice for a descriptor that was given without its option. */
export function adviseOnEntries(argument: string): string {
  return `give the entries of a descriptor as --descriptor ${argument}`;
}

/** The first `=` ends the key. A text without one is rejected: otherwise a forgotten value would silently be the empty one. */
function readEntry(option: string, text: string): Entry {
  const [, key = '', equals = '', value = ''] = /^((?:[^=\\]|\\.)*)(=?)(.*)$/s.exec(text) ?? [];
  if (key === '')
    throw new UsageError(
      `${option}: ${JSON.stringify(text)} has no key; give key=value, and write \\= and \\, for = and , in a key or value`,
    );
  if (equals === '')
    throw new UsageError(
      `${option}: ${JSON.stringify(text)} has no value; write ${text.replace(/(?<=.):(?=.)/s, '=')}${/.:./s.test(text) ? '' : '=VALUE'}, or ${text}= for an empty value`,
    );
  return { key: toByteString(unescape(key)), value: toByteString(unescape(value)) };
}

function unescape(text: string): string {
  return text.replaceAll(/\\(.)/gs, '$1');
}
