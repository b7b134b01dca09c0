/** Finds the records of a domain that select a descriptor: each is indexed below one of its entries, the one that fewest records share. */

import { toByteString } from '../descriptor/byte-string';
import type { ByteString, Entry } from '../descriptor/descriptor';
import type { SelectedOverride, SelectedRecord, Selection } from '../rule/control-view';
import type { EntrySelector, SelectorRecord } from './control-record';
import { ShardedMap } from './sharded-map';

/** An entry in bytes. */
interface SelectorEntry {
  readonly key: ByteString;
  /** Absent: any value. */
  readonly value?: ByteString;
}

/** A record in the index. There may be a hundred thousand, so it repeats nothing of the record that it can share. */
export interface Selector {
  readonly record: SelectorRecord;
  readonly version: number;
  readonly entries: readonly SelectorEntry[];
  /** The entry below which it is indexed. */
  readonly anchor: SelectorEntry;
  /** What it selects alone, once that was asked. */
  alone: Selection | undefined;
}

/** Selectors that contain one key. */
interface KeyLevel {
  readonly byValue: ShardedMap<Selector[]>;
  readonly anyValue: Selector[];
}

export class SelectorIndex {
  private readonly byKey = new Map<ByteString, KeyLevel>();
  private count = 0;

  get size(): number {
    return this.count;
  }

  /** The anchor of a record with these entries. */
  anchorOf(entries: readonly SelectorEntry[]): SelectorEntry {
    return this.leastShared(entries);
  }

  add(selector: Selector): void {
    const { key, value } = selector.anchor;
    const level = this.levelOf(key);
    if (value === undefined) level.anyValue.push(selector);
    else {
      const same = level.byValue.get(value);
      if (same === undefined) level.byValue.set(value, [selector]);
      else same.push(selector);
    }
    this.count += 1;
  }

  remove(selector: Selector): void {
    const { key, value } = selector.anchor;
    const level = this.byKey.get(key);
    const list = value === undefined ? level?.anyValue : level?.byValue.get(value);
    const at = list?.indexOf(selector) ?? -1;
    if (level === undefined || list === undefined || at < 0) return;
    list.splice(at, 1);
    this.count -= 1;
    if (list.length === 0 && value !== undefined) level.byValue.delete(value);
    if (level.byValue.size === 0 && level.anyValue.length === 0) this.byKey.delete(key);
  }

  /** How many records the shortest list has that a record with these entries could join. */
  crowd(record: Pick<SelectorRecord, 'entries'>): number {
    return this.sharing(this.leastShared(toEntries(record.entries)));
  }

  select(entries: readonly Entry[]): Selection | undefined {
    let found: Selector[] | undefined;
    for (const entry of entries) {
      const level = this.byKey.get(entry.key);
      if (level === undefined) continue;
      found = collect(level.byValue.get(entry.value), { entries, found });
      found = collect(level.anyValue, { entries, found });
    }
    if (found === undefined) return undefined;
    const [first] = found;
    if (first === undefined || found.length > 1) return toSelection(found);
    return (first.alone ??= toSelection(found));
  }

  /** The anchor: preferably with a value, because few descriptors have it. */
  private leastShared(entries: readonly SelectorEntry[]): SelectorEntry {
    const withValue = entries.filter(({ value }) => value !== undefined);
    return (withValue.length === 0 ? entries : withValue).reduce((least, entry) =>
      this.sharing(entry) < this.sharing(least) ? entry : least,
    );
  }

  private sharing({ key, value }: SelectorEntry): number {
    const level = this.byKey.get(key);
    return (value === undefined ? level?.anyValue.length : level?.byValue.get(value)?.length) ?? 0;
  }

  private levelOf(key: ByteString): KeyLevel {
    let level = this.byKey.get(key);
    if (level === undefined) {
      level = { byValue: new ShardedMap(), anyValue: [] };
      this.byKey.set(key, level);
    }
    return level;
  }
}

/** The entries in bytes: the same list if all of it is ASCII. */
export function toEntries(entries: readonly EntrySelector[]): readonly SelectorEntry[] {
  const isSame = entries.every(({ key, value = '' }) => toByteString(key) === key && toByteString(value) === value);
  if (isSame) return entries;
  return entries.map(({ key, value }) => ({ key: toByteString(key), ...(value !== undefined && { value: toByteString(value) }) }));
}

interface CollectInput {
  readonly entries: readonly Entry[];
  readonly found: Selector[] | undefined;
}

function collect(candidates: readonly Selector[] | undefined, { entries, found }: CollectInput): Selector[] | undefined {
  if (candidates === undefined) return found;
  let all = found;
  for (const selector of candidates) {
    if (!isContained(selector.entries, entries) || all?.includes(selector) === true) continue;
    all ??= [];
    all.push(selector);
  }
  return all;
}

function isContained(wanted: readonly SelectorEntry[], entries: readonly Entry[]): boolean {
  for (const { key, value } of wanted) {
    let isThere = false;
    for (const entry of entries) {
      if (entry.key !== key || (value !== undefined && entry.value !== value)) continue;
      isThere = true;
      break;
    }
    if (!isThere) return false;
  }
  return true;
}

function toSelection(found: Selector[]): Selection {
  const block = lastToEnd(found, 'block');
  const pass = lastToEnd(found, 'pass');
  const overrides: SelectedOverride[] = [];
  for (const { record } of found.sort(byPrecedence)) {
    if (record.kind !== 'override') continue;
    const { kind, id, limit, candidate } = record;
    overrides.push({ kind, id, ...endOf(record), limit, ...(candidate && { candidate }) });
  }
  return { ...(block && { block }), ...(pass && { pass }), overrides };
}

/** More entries, then more values, then the newer version. Records of one write are ordered by their ids. */
function byPrecedence(one: Selector, other: Selector): number {
  return (
    other.entries.length - one.entries.length ||
    valuesOf(other) - valuesOf(one) ||
    other.version - one.version ||
    (one.record.id < other.record.id ? -1 : 1)
  );
}

function valuesOf({ entries }: Selector): number {
  let values = 0;
  for (const { value } of entries) if (value !== undefined) values += 1;
  return values;
}

function lastToEnd(found: readonly Selector[], kind: 'block' | 'pass'): SelectedRecord | undefined {
  let last: SelectorRecord | undefined;
  for (const { record } of found) {
    if (record.kind !== kind) continue;
    const [end, lastEnd] = [record.untilMs ?? Infinity, last?.untilMs ?? Infinity];
    if (last === undefined || end > lastEnd || (end === lastEnd && record.id < last.id)) last = record;
  }
  return last && { kind, id: last.id, ...endOf(last) };
}

const MS_US = 1_000;

function endOf({ untilMs }: SelectorRecord): { readonly untilUs?: number } {
  return untilMs === undefined ? {} : { untilUs: untilMs * MS_US };
}
