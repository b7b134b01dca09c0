/** Selectors by a value: a hash table that keeps the hashes beside them, so that a value which no record has costs one look. */

import type { ByteString } from '../../domain/descriptor/descriptor';
import { RECORD_BOUNDS } from './control-record';

/** An entry of the table; entries with the same value form a chain. */
export interface Chained<Item> {
  /** Undefined: it is not in the table. */
  readonly value: ByteString | undefined;
  /** Changed by the table. */
  next: Item | undefined;
}

/** Each shard is small, so that making it larger takes well under a millisecond. */
const SHARDS = 16;
const SHARD_SHIFT = 28;

const SLOTS_MIN = 8;

/** Part of the slots in use at which their number doubles, removed ones included: low, so that most other values find an empty slot. */
const LOAD_MAX = 0.5;

const EMPTY = 0;
const REMOVED = 1;
/** Set in every hash, so that it differs from the marks above. */
const HASH_BIT = 2;

export class SelectorTable<Item extends Chained<Item>> {
  private readonly shards: (Shard<Item> | undefined)[] = new Array<Shard<Item> | undefined>(SHARDS).fill(undefined);
  private values = 0;

  /** Number of values. */
  get size(): number {
    return this.values;
  }

  /** The first selector with this value; undefined: none has it. */
  get(value: ByteString): Item | undefined {
    // No record has such a value, and a caller's text may be long.
    if (value.length > RECORD_BOUNDS.valueBytes) return undefined;
    const hash = hashOf(value);
    return this.shards[hash >>> SHARD_SHIFT]?.get(value, hash);
  }

  add(item: Item): void {
    const hash = hashOf(item.value ?? '');
    const shard = (this.shards[hash >>> SHARD_SHIFT] ??= new Shard<Item>());
    if (shard.add(item, hash)) this.values += 1;
  }

  /** Whether it was there. */
  remove(item: Item): boolean {
    const { value = '' } = item;
    const hash = hashOf(value);
    const shard = this.shards[hash >>> SHARD_SHIFT];
    const first = shard?.get(value, hash);
    if (shard === undefined || first === undefined) return false;
    if (first !== item) return unchain(first, item);
    if (item.next === undefined) this.values -= 1;
    shard.replaceFirst(item, hash);
    return true;
  }
}

class Shard<Item extends Chained<Item>> {
  private hashes = new Int32Array(SLOTS_MIN);
  private items: (Item | undefined)[] = new Array<Item | undefined>(SLOTS_MIN).fill(undefined);
  private live = 0;
  /** Slots that are not empty. */
  private filled = 0;

  get(value: ByteString, hash: number): Item | undefined {
    const { hashes } = this;
    const mask = hashes.length - 1;
    // Ends at an empty slot: at most half are filled.
    for (let at = hash & mask; ; at = (at + 1) & mask) {
      const found = hashes[at] ?? EMPTY;
      if (found === EMPTY) return undefined;
      if (found !== hash) continue;
      const item = this.items[at];
      if (item?.value === value) return item;
    }
  }

  /** Whether the value is new. */
  add(item: Item, hash: number): boolean {
    const first = this.get(item.value ?? '', hash);
    if (first !== undefined) {
      item.next = first.next;
      first.next = item;
      return false;
    }
    if (this.filled + 1 > this.hashes.length * LOAD_MAX) this.rebuild();
    this.insert(item, hash);
    this.live += 1;
    return true;
  }

  /** Replaces the first selector of a chain, which is there, by the next one. */
  replaceFirst(first: Item, hash: number): void {
    const mask = this.hashes.length - 1;
    let place = hash & mask;
    while (this.items[place] !== first) place = (place + 1) & mask;
    this.items[place] = first.next;
    if (first.next !== undefined) return;
    this.hashes[place] = REMOVED;
    this.live -= 1;
  }

  private insert(item: Item, hash: number): void {
    const mask = this.hashes.length - 1;
    let at = hash & mask;
    while (this.hashes[at] !== EMPTY) at = (at + 1) & mask;
    this.hashes[at] = hash;
    this.items[at] = item;
    this.filled += 1;
  }

  /** Makes new slots, twice as many if they are needed, and leaves out what was removed. */
  private rebuild(): void {
    const { hashes, items } = this;
    const isCrowded = (this.live + 1) * 2 > hashes.length * LOAD_MAX;
    const length = isCrowded ? hashes.length * 2 : hashes.length;
    this.hashes = new Int32Array(length);
    this.items = new Array<Item | undefined>(length).fill(undefined);
    this.filled = 0;
    items.forEach((item, at) => {
      if (item !== undefined) this.insert(item, hashes[at] ?? HASH_BIT);
    });
  }
}

/** Takes an item out of a chain, but not its first one; whether it was there. */
export function unchain<Item extends Chained<Item>>(first: Item, item: Item): boolean {
  for (let before = first; before.next !== undefined; before = before.next) {
    if (before.next !== item) continue;
    before.next = item.next;
    return true;
  }
  return false;
}

/** Takes two bytes at once. The upper bits choose the shard, so they depend on all others. */
function hashOf(value: ByteString): number {
  let hash = 0x811c9dc5 ^ value.length;
  let at = 0;
  for (; at + 1 < value.length; at += 2) {
    hash = Math.imul(hash ^ (value.charCodeAt(at) | (value.charCodeAt(at + 1) << 16)), 0x85ebca6b);
    hash ^= hash >>> 15;
  }
  if (at < value.length) hash = Math.imul(hash ^ value.charCodeAt(at), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
  return (hash ^ (hash >>> 13)) | HASH_BIT;
}
