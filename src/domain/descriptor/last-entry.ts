/** The last entry of a request: it follows the entries of a rule, says something about the request, and names none of the rule's buckets. */

import type { ByteString, Entry } from './descriptor';

export interface LastEntry {
  /** Its key. The entry follows those of the rule, or is missing. */
  readonly entry: ByteString;
  /** How many entries the rule has. */
  readonly level: number;
}

/** Whether the entries from that place on all have its key. Several contradict each other, so none of them counts. */
export function areLast({ entry }: LastEntry, entries: readonly Entry[], from: number): boolean {
  for (let i = from; i < entries.length; i += 1) if (entries[i]?.key !== entry) return false;
  return true;
}

/** The value that the request has there; undefined: none, or several. */
export function lastValue({ level }: LastEntry, entries: readonly Entry[]): ByteString | undefined {
  return entries.length === level + 1 ? entries[level]?.value : undefined;
}

/** A rule, or its match, may have one of them. */
export interface WithLastEntry {
  readonly reserve?: LastEntry | undefined;
  readonly fair?: LastEntry | undefined;
}

export function lastEntryOf({ reserve, fair }: WithLastEntry): LastEntry | undefined {
  return reserve ?? fair;
}

/** The entries that name the bucket of a member: with the last one, if the request has one. */
export function memberEntries(entries: readonly Entry[], match: WithLastEntry): readonly Entry[] {
  const { level } = lastEntryOf(match) ?? { level: entries.length };
  return entries.length <= level + 1 ? entries : entries.slice(0, level);
}

/** The entries that name the bucket which all requests of the rule share. */
export function countedEntries(entries: readonly Entry[], match: WithLastEntry): readonly Entry[] {
  const last = lastEntryOf(match);
  return last === undefined || entries.length <= last.level ? entries : entries.slice(0, last.level);
}
