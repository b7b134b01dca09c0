/** Finds the records of a domain that select a descriptor: each is indexed below one of its entries, the one that fewest records share. */

import { toByteString } from '../../domain/descriptor/byte-string';
import type { ByteString, Entry } from '../../domain/descriptor/descriptor';
import type { SelectedOverride, SelectedRecord, Selection } from '../../domain/rule/control-view';
import { makeStage, type Stage, type VersionedStage } from '../../domain/rule/stage/stage';
import {
  OVERRIDE_ROLLOUT,
  type EntrySelector,
  type OverrideRecord,
  type PlanRecord,
  type RecordKey,
  type RolloutRecord,
  type RolloutValues,
  type SelectorRecord,
} from './control-record';
import type { Expiry } from '../../lib/expiry-queue';
import { SelectorTable, unchain } from './selector-table';
import { US_PER_MS } from '../../lib/time-units';

/** An entry in bytes. */
interface SelectorEntry {
  readonly key: ByteString;
  /** Absent: any value. */
  readonly value?: ByteString;
}

/** The records that are kept as objects: all kinds but tenants. */
export type HeldKinds = PlanRecord | SelectorRecord | RolloutRecord;

/** A record that is kept as an object. */
export interface Held {
  readonly record: HeldKinds;
  readonly version: number;
  mark: number;
  readonly expiry: Expiry<RecordKey> | undefined;
}

/**
 * A record in the index. There may be a hundred thousand, so it repeats nothing of the record that it can share; and what a decision
 * compares is in few places, because each of them may be far away in memory.
 */
export interface Selector extends Held {
  readonly record: SelectorRecord;
  /** The entry below which it is indexed. */
  readonly key: ByteString;
  readonly value: ByteString | undefined;
  /** The other entries. */
  readonly rest: readonly SelectorEntry[];
  /** Its selection if it is the only record, once that was asked. */
  alone: Selection | undefined;
  /** Another one that is indexed below the same entry. */
  next: Selector | undefined;
}

/** Selectors that contain one key. */
interface KeyLevel {
  readonly key: ByteString;
  readonly byValue: SelectorTable<Selector>;
  /** The first of those that accept any value. */
  anyValue: Selector | undefined;
}

const NO_ENTRIES: readonly SelectorEntry[] = [];

/** Lists of entries that many records share are kept once; beyond this number, the table starts again. */
const SHARED_RESTS_MAX = 1_024;

/** Longer lists are rarely equal. */
const SHARED_REST_LENGTH_MAX = 2;

/** Up to this number of keys, comparing them one by one is faster than a Map. */
const KEYS_COMPARED_MAX = 4;

export class SelectorIndex {
  private readonly byKey = new Map<ByteString, KeyLevel>();
  /** The same. */
  private levels: readonly KeyLevel[] = [];
  private readonly rests = new Map<string, readonly SelectorEntry[]>();
  private count = 0;

  get size(): number {
    return this.count;
  }

  add({ record, version, mark, expiry }: Held & { readonly record: SelectorRecord }): Selector {
    const entries = toEntries(record.entries);
    const anchor = this.leastShared(entries);
    const { key, value } = anchor;
    const rest = this.sharedRest(entries.filter((entry) => entry !== anchor));
    const selector: Selector = { record, version, mark, expiry, key, value, rest, alone: undefined, next: undefined };
    const level = this.byKey.get(key) ?? this.addLevel(key);
    if (value !== undefined) level.byValue.add(selector);
    else {
      selector.next = level.anyValue;
      level.anyValue = selector;
    }
    this.count += 1;
    return selector;
  }

  remove(selector: Selector): void {
    const { key, value } = selector;
    const level = this.byKey.get(key);
    if (level === undefined) return;
    const isRemoved = value === undefined ? removeAnyValue(level, selector) : level.byValue.remove(selector);
    if (!isRemoved) return;
    this.count -= 1;
    if (level.byValue.size > 0 || level.anyValue !== undefined) return;
    this.byKey.delete(key);
    this.levels = [...this.byKey.values()];
  }

  /** How many records the shortest list has that a record with these entries could join. */
  crowd(record: Pick<SelectorRecord, 'entries'>): number {
    return this.sharing(this.leastShared(toEntries(record.entries)));
  }

  /** `endedUpToUs`: records that end until then are left out; 0: none is. */
  select(entries: readonly Entry[], endedUpToUs = 0): Selection | undefined {
    const all = this.find(entries);
    const found = endedUpToUs === 0 ? all : notEnded(all, endedUpToUs);
    if (found === undefined) return undefined;
    if (Array.isArray(found)) return toSelection(found);
    return (found.alone ??= toSelection([found]));
  }

  /** All records that select the entries, in no order. */
  selecting(entries: readonly Entry[]): readonly Selector[] {
    const found = this.find(entries);
    return found === undefined ? [] : Array.isArray(found) ? found : [found];
  }

  private find(entries: readonly Entry[]): Found {
    let found: Found;
    for (const entry of entries) {
      const level = this.levelOf(entry.key);
      if (level === undefined) continue;
      const first = level.byValue.get(entry.value);
      if (first !== undefined) found = collect(first, entries, found);
      if (level.anyValue !== undefined) found = collect(level.anyValue, entries, found);
    }
    return found;
  }

  private levelOf(key: ByteString): KeyLevel | undefined {
    const { levels } = this;
    if (levels.length > KEYS_COMPARED_MAX) return this.byKey.get(key);
    for (const level of levels) if (level.key === key) return level;
    return undefined;
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
    let count = 0;
    for (let at = value === undefined ? level?.anyValue : level?.byValue.get(value); at !== undefined; at = at.next) count += 1;
    return count;
  }

  private sharedRest(rest: readonly SelectorEntry[]): readonly SelectorEntry[] {
    if (rest.length === 0) return NO_ENTRIES;
    if (rest.length > SHARED_REST_LENGTH_MAX) return rest;
    const text = JSON.stringify(rest);
    const known = this.rests.get(text);
    if (known !== undefined) return known;
    if (this.rests.size >= SHARED_RESTS_MAX) this.rests.clear();
    this.rests.set(text, rest);
    return rest;
  }

  private addLevel(key: ByteString): KeyLevel {
    const level: KeyLevel = { key, byValue: new SelectorTable(), anyValue: undefined };
    this.byKey.set(key, level);
    this.levels = [...this.byKey.values()];
    return level;
  }
}

/** The entries in bytes: the same list if all of it is ASCII. */
function toEntries(entries: readonly EntrySelector[]): readonly SelectorEntry[] {
  const isSame = entries.every(({ key, value = '' }) => toByteString(key) === key && toByteString(value) === value);
  if (isSame) return entries;
  return entries.map(({ key, value }) => ({ key: toByteString(key), ...(value !== undefined && { value: toByteString(value) }) }));
}

/** Whether it was there. */
function removeAnyValue(level: KeyLevel, selector: Selector): boolean {
  if (level.anyValue === selector) {
    level.anyValue = selector.next;
    return true;
  }
  return level.anyValue !== undefined && unchain(level.anyValue, selector);
}

/** Mostly none or one, for which no list is made. */
type Found = Selector | Selector[] | undefined;

/** The records of the chain that select the entries, after the ones found before. */
function collect(first: Selector, entries: readonly Entry[], found: Found): Found {
  let all = found;
  for (let selector: Selector | undefined = first; selector !== undefined; selector = selector.next) {
    if (selector.rest.length > 0 && !isContained(selector.rest, entries)) continue;
    if (all === undefined) all = selector;
    else if (!Array.isArray(all)) all = all === selector ? all : [all, selector];
    else if (!all.includes(selector)) all.push(selector);
  }
  return all;
}

function notEnded(found: Found, endedUpToUs: number): Found {
  if (found === undefined) return undefined;
  const rest = (Array.isArray(found) ? found : [found]).filter(({ expiry }) => expiry === undefined || expiry.until > endedUpToUs);
  return rest.length > 1 ? rest : rest[0];
}

/** Whether the other entries of a selector are there. */
function isContained(rest: readonly SelectorEntry[], entries: readonly Entry[]): boolean {
  for (const { key, value } of rest) {
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
  for (const { record, version } of found.sort(byPrecedence)) {
    if (record.kind !== 'override') continue;
    const { kind, id, limit, candidate, rollout } = record;
    const stage = rollout && { stage: stageOf(record, rollout, version) };
    overrides.push({ kind, id, ...endOf(record), limit, ...(candidate && { candidate }), ...stage });
  }
  return { overrides, ...(block && { block }), ...(pass && { pass }) };
}

/** More entries, then more values, then the newer version. Records of one write are ordered by their ids. */
function byPrecedence(one: Selector, other: Selector): number {
  return (
    other.rest.length - one.rest.length ||
    valuesOf(other) - valuesOf(one) ||
    other.version - one.version ||
    (one.record.id < other.record.id ? -1 : 1)
  );
}

function valuesOf({ value: own, rest }: Selector): number {
  let values = Number(own !== undefined);
  for (const { value } of rest) if (value !== undefined) values += 1;
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

/** The same object for each selection, because limits are made once for each stage. */
const stages = new WeakMap<RolloutValues, Stage>();

function stageOf({ domain, id }: OverrideRecord, rollout: RolloutValues, version: number): Stage {
  const known = stages.get(rollout);
  if (known !== undefined) return known;
  const values = stageValuesOf(rollout, version);
  const made = makeStage({ domain: toByteString(domain), name: `${OVERRIDE_ROLLOUT}${id}`, values, isConfigured: false });
  stages.set(rollout, made);
  return made;
}

export function stageValuesOf({ by, percent, stopIf }: RolloutValues, version: number): VersionedStage {
  return { percent, version, ...(by !== undefined && { by: toByteString(by) }), ...(stopIf && { stopIf }) };
}

function endOf({ untilMs }: SelectorRecord): { readonly untilUs?: number } {
  return untilMs === undefined ? {} : { untilUs: untilMs * US_PER_MS };
}
