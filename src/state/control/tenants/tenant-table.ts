/** The plans of all tenants, in few arrays of numbers: a million tenants cost the garbage collector nothing. */

import type { ByteString } from '../../../domain/descriptor/descriptor';

/** Each shard is small, so that making it larger takes well under a millisecond. */
const SHARDS = 64;
const SHARD_BITS = 6;

/**
 * A record in words of 4 bytes: length of the name and mark, domain, plan, version and time of creation (3), then the name, 4 characters
 * in each word. A version has 53 bits, so the upper ones of its first word are those of the time.
 */
const LENGTH_BITS = 16;
const LENGTH_MASK = 0xffff;
const DOMAIN_AT = 1;
const PLAN_AT = 2;
const VERSION_AT = 3;
const CREATED_AT = 5;
const NAME_AT = 6;

const VERSION_UPPER_BITS = 21;
const VERSION_UPPER_MASK = 2 ** VERSION_UPPER_BITS - 1;
/** The times of 11 and 32 bits: until the year 2248. */
const CREATED_MS_MAX = 2 ** 43 - 1;

const WORDS_MIN = 64;
const SLOTS_MIN = 16;

/** Growth of the words of a shard, which bounds their waste. */
const GROWTH = 1.25;

/** Part of the slots in use at which their number doubles, removed ones included. */
const LOAD_MAX = 0.75;

/** Names of a part: less than a millisecond. */
const NAMES_AT_ONCE = 500;

const EMPTY = 0;
const REMOVED = 1;
/** Added to offsets, so that they differ from the marks above. */
const OFFSET_BASE = 2;

/** A slot has some bits of the hash above the offset: of other names in its place, few are read. */
const OFFSET_BITS = 27;
const OFFSET_MASK = 2 ** OFFSET_BITS - 1;
const TAG_SHIFT = 19;
const TAG_MASK = 2 ** (32 - OFFSET_BITS) - 1;

const WORD = 2 ** 32;

export interface TenantEntry {
  /** The caller's number of the plan. */
  readonly plan: number;
  readonly version: number;
  /** A number of the caller's, below 65,536. */
  readonly mark: number;
  /** Milliseconds since 1970; undefined: unknown. */
  readonly createdAtMs?: number | undefined;
}

/** A tenant of a domain; the domain is a number of the caller's. */
export interface TenantName {
  readonly domain: number;
  readonly tenant: ByteString;
}

export class TenantTable {
  private readonly shards: (Shard | undefined)[] = new Array<Shard | undefined>(SHARDS).fill(undefined);
  private live = 0;

  get size(): number {
    return this.live;
  }

  /** The plan alone, without making an object. -1: the tenant is unknown. */
  planOf(domain: number, tenant: ByteString): number {
    // No tenant has such a name, and a caller's text may be long.
    if (tenant.length > LENGTH_MASK) return -1;
    const hash = pack(domain, tenant);
    const shard = this.shards[hash >>> (32 - SHARD_BITS)];
    return shard === undefined ? -1 : shard.planOfPacked(domain, hash);
  }

  get({ domain, tenant }: TenantName): TenantEntry | undefined {
    const hash = pack(domain, tenant);
    return this.shards[hash >>> (32 - SHARD_BITS)]?.getPacked(domain, hash);
  }

  set({ domain, tenant }: TenantName, entry: TenantEntry): void {
    const hash = pack(domain, tenant);
    const shard = (this.shards[hash >>> (32 - SHARD_BITS)] ??= new Shard());
    if (shard.setPacked(domain, { hash, entry })) this.live += 1;
  }

  delete({ domain, tenant }: TenantName): boolean {
    const hash = pack(domain, tenant);
    const isDeleted = this.shards[hash >>> (32 - SHARD_BITS)]?.deletePacked(domain, hash) === true;
    if (isDeleted) this.live -= 1;
    return isDeleted;
  }

  /** All tenants, in parts. Tenants that are added or removed meanwhile may be missing or there. */
  *namesInParts(): Generator<readonly TenantName[]> {
    for (const shard of this.shards) if (shard !== undefined) yield* shard.namesInParts();
  }
}

/** The name that was packed last, in words, and its length. One for all tables: each call packs the name that it is about. */
let packed = new Int32Array(WORDS_MIN);
let packedLength = 0;

/** Packs the name, and hashes it with the domain. */
function pack(domain: number, tenant: ByteString): number {
  const { length } = tenant;
  packedLength = length;
  if (wordsOf(length) > packed.length) packed = new Int32Array(2 * wordsOf(length));
  const words = packed;
  let hash = seedOf(domain, length);
  let [at, word] = [0, 0];
  for (; at + 3 < length; at += 4) {
    const four =
      tenant.charCodeAt(at) | (tenant.charCodeAt(at + 1) << 8) | (tenant.charCodeAt(at + 2) << 16) | (tenant.charCodeAt(at + 3) << 24);
    words[word] = four;
    word += 1;
    hash = mix(hash, four);
  }
  if (at < length) {
    let rest = 0;
    for (let shift = 0; at < length; at += 1, shift += 8) rest |= tenant.charCodeAt(at) << shift;
    words[word] = rest;
    hash = mix(hash, rest);
  }
  return finish(hash);
}

function wordsOf(length: number): number {
  return (length + 3) >>> 2;
}

function seedOf(domain: number, length: number): number {
  return 0x811c9dc5 ^ Math.imul(domain, 0x9e3779b1) ^ length;
}

function mix(hash: number, word: number): number {
  const mixed = Math.imul(hash ^ word, 0x85ebca6b);
  return mixed ^ (mixed >>> 15);
}

/** The upper bits choose the shard, so they depend on all others. */
function finish(hash: number): number {
  const mixed = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
  return mixed ^ (mixed >>> 13);
}

class Shard {
  private slots = new Int32Array(SLOTS_MIN);
  private words = new Int32Array(WORDS_MIN);
  /** Words used, removed records included. */
  private end = 0;
  private removedWords = 0;
  private live = 0;
  /** Slots that are not empty. */
  private filled = 0;

  /** These methods are about the packed name. */
  planOfPacked(domain: number, hash: number): number {
    const slot = this.findPacked(domain, hash);
    return slot < 0 ? -1 : (this.words[this.offsetAt(slot) + PLAN_AT] ?? -1);
  }

  getPacked(domain: number, hash: number): TenantEntry | undefined {
    const slot = this.findPacked(domain, hash);
    if (slot < 0) return undefined;
    const offset = this.offsetAt(slot);
    const upper = this.word(offset + VERSION_AT);
    const version = (upper & VERSION_UPPER_MASK) * WORD + (this.word(offset + VERSION_AT + 1) >>> 0);
    const createdAtMs = (upper >>> VERSION_UPPER_BITS) * WORD + (this.word(offset + CREATED_AT) >>> 0);
    return {
      plan: this.word(offset + PLAN_AT),
      mark: this.word(offset) >>> LENGTH_BITS,
      version,
      ...(createdAtMs > 0 && { createdAtMs }),
    };
  }

  /** Whether the name is new. */
  setPacked(domain: number, { hash, entry }: { readonly hash: number; readonly entry: TenantEntry }): boolean {
    const slot = this.findPacked(domain, hash);
    if (slot >= 0) {
      this.write(this.offsetAt(slot), entry);
      return false;
    }
    const nameWords = wordsOf(packedLength);
    this.makeRoom(NAME_AT + nameWords);
    const offset = this.end;
    const { words } = this;
    words[offset] = packedLength;
    words[offset + DOMAIN_AT] = domain;
    this.write(offset, entry);
    for (let i = 0; i < nameWords; i += 1) words[offset + NAME_AT + i] = packed[i] ?? 0;
    this.end += NAME_AT + nameWords;
    this.insert(hash, offset);
    this.live += 1;
    return true;
  }

  deletePacked(domain: number, hash: number): boolean {
    const slot = this.findPacked(domain, hash);
    if (slot < 0) return false;
    this.removedWords += NAME_AT + wordsOf(packedLength);
    this.slots[slot] = REMOVED;
    this.live -= 1;
    return true;
  }

  /** Changes never move what these copies refer to: a name is written once, and other arrays take its place. */
  *namesInParts(): Generator<readonly TenantName[]> {
    const [slots, { words }] = [this.slots.slice(), this];
    let part: TenantName[] = [];
    for (const slot of slots) {
      if ((slot & OFFSET_MASK) < OFFSET_BASE) continue;
      part.push(nameAt(words, (slot & OFFSET_MASK) - OFFSET_BASE));
      if (part.length < NAMES_AT_ONCE) continue;
      yield part;
      part = [];
    }
    yield part;
  }

  private word(at: number): number {
    return this.words[at] ?? 0;
  }

  private offsetAt(slot: number): number {
    return ((this.slots[slot] ?? OFFSET_BASE) & OFFSET_MASK) - OFFSET_BASE;
  }

  private hashAt(offset: number): number {
    const length = this.word(offset) & LENGTH_MASK;
    let hash = seedOf(this.word(offset + DOMAIN_AT), length);
    for (let i = 0; i < wordsOf(length); i += 1) hash = mix(hash, this.word(offset + NAME_AT + i));
    return finish(hash);
  }

  private write(offset: number, { plan, mark, version, createdAtMs = 0 }: TenantEntry): void {
    const { words } = this;
    const created = createdAtMs > 0 && createdAtMs <= CREATED_MS_MAX ? Math.floor(createdAtMs) : 0;
    words[offset] = (this.word(offset) & LENGTH_MASK) | (mark << LENGTH_BITS);
    words[offset + PLAN_AT] = plan;
    words[offset + VERSION_AT] = Math.floor(version / WORD) | (Math.floor(created / WORD) << VERSION_UPPER_BITS);
    words[offset + VERSION_AT + 1] = version % WORD;
    words[offset + CREATED_AT] = created % WORD;
  }

  /** The slot of the packed name, or -1. */
  private findPacked(domain: number, hash: number): number {
    const { slots } = this;
    const mask = slots.length - 1;
    const tag = (hash >>> TAG_SHIFT) & TAG_MASK;
    // Ends at an empty slot: at most three quarters are filled.
    for (let at = hash & mask; ; at = (at + 1) & mask) {
      const slot = slots[at] ?? EMPTY;
      if (slot === EMPTY) return -1;
      if (slot >>> OFFSET_BITS === tag && slot !== REMOVED && this.isPacked((slot & OFFSET_MASK) - OFFSET_BASE, domain)) return at;
    }
  }

  private isPacked(offset: number, domain: number): boolean {
    const { words } = this;
    if (((words[offset] ?? 0) & LENGTH_MASK) !== packedLength || words[offset + DOMAIN_AT] !== domain) return false;
    const [from, count, name] = [offset + NAME_AT, wordsOf(packedLength), packed];
    for (let i = 0; i < count; i += 1) if (words[from + i] !== name[i]) return false;
    return true;
  }

  private insert(hash: number, offset: number): void {
    const { slots } = this;
    const mask = slots.length - 1;
    let at = hash & mask;
    while ((slots[at] ?? EMPTY) !== EMPTY) at = (at + 1) & mask;
    slots[at] = (((hash >>> TAG_SHIFT) & TAG_MASK) << OFFSET_BITS) | (offset + OFFSET_BASE);
    this.filled += 1;
  }

  /** Makes room for one more record of this length, and for its slot. */
  private makeRoom(length: number): void {
    const { slots, words } = this;
    const needsWords = this.end + length > words.length;
    const needsSlots = this.filled + 1 > slots.length * LOAD_MAX;
    if (!needsWords && !needsSlots) return;
    // With many removed slots, copying them away is enough.
    const isCrowded = needsSlots && (this.live + 1) * 2 > slots.length * LOAD_MAX;
    const wordsLength = needsWords ? Math.max(WORDS_MIN, Math.ceil((this.end - this.removedWords + length) * GROWTH)) : words.length;
    if (needsSlots || this.removedWords > 0) {
      this.rebuild({ wordsLength, slotsLength: isCrowded ? slots.length * 2 : slots.length });
      return;
    }
    this.words = new Int32Array(wordsLength);
    this.words.set(words.subarray(0, this.end));
  }

  /** Makes new arrays, without what was removed. */
  private rebuild({ wordsLength, slotsLength }: { readonly wordsLength: number; readonly slotsLength: number }): void {
    const { slots, words } = this;
    this.slots = new Int32Array(slotsLength);
    this.words = new Int32Array(wordsLength);
    this.filled = 0;
    this.end = 0;
    this.removedWords = 0;
    for (const slot of slots) {
      if ((slot & OFFSET_MASK) < OFFSET_BASE) continue;
      const offset = (slot & OFFSET_MASK) - OFFSET_BASE;
      const length = NAME_AT + wordsOf((words[offset] ?? 0) & LENGTH_MASK);
      for (let i = 0; i < length; i += 1) this.words[this.end + i] = words[offset + i] ?? 0;
      this.insert(this.hashAt(this.end), this.end);
      this.end += length;
    }
  }
}

function nameAt(words: Int32Array, offset: number): TenantName {
  const length = (words[offset] ?? 0) & LENGTH_MASK;
  const bytes = Buffer.from(words.buffer, (offset + NAME_AT) * Int32Array.BYTES_PER_ELEMENT, length);
  return { domain: words[offset + DOMAIN_AT] ?? 0, tenant: bytes.toString('latin1') };
}
