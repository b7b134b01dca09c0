/** The plans of all tenants, in few byte arrays: a million tenants cost the garbage collector nothing. */

import type { ByteString } from '../descriptor/descriptor';

/** Each shard is small, so that making it larger takes well under a millisecond. */
const SHARDS = 256;
const SHARD_BITS = 8;

/** A record: length of the name (2 bytes), mark (2), domain (4), plan (4), version (8), then the name. */
const HEAD_BYTES = 20;
const MARK_AT = 2;
const DOMAIN_AT = 4;
const PLAN_AT = 8;
const VERSION_AT = 12;

const BYTES_MIN = 256;
const SLOTS_MIN = 16;

/** Growth of the bytes of a shard, which bounds their waste. */
const GROWTH = 1.25;

/** Part of the slots in use at which their number doubles, removed ones included. */
const LOAD_MAX = 0.75;

const EMPTY = 0;
const REMOVED = 1;
/** Added to offsets, so that they differ from the marks above. */
const OFFSET_BASE = 2;

export interface TenantEntry {
  /** The caller's number of the plan. */
  readonly plan: number;
  readonly version: number;
  /** A number of the caller's, below 65,536. */
  readonly mark: number;
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
    const hash = hashOf(domain, tenant);
    const shard = this.shards[hash >>> (32 - SHARD_BITS)];
    return shard === undefined ? -1 : shard.planOf({ domain, tenant }, hash);
  }

  get(name: TenantName): TenantEntry | undefined {
    const hash = hashOf(name.domain, name.tenant);
    return this.shards[hash >>> (32 - SHARD_BITS)]?.get(name, hash);
  }

  set(name: TenantName, entry: TenantEntry): void {
    const hash = hashOf(name.domain, name.tenant);
    const shard = (this.shards[hash >>> (32 - SHARD_BITS)] ??= new Shard());
    if (shard.set(name, { hash, entry })) this.live += 1;
  }

  delete(name: TenantName): boolean {
    const hash = hashOf(name.domain, name.tenant);
    const isDeleted = this.shards[hash >>> (32 - SHARD_BITS)]?.delete(name, hash) === true;
    if (isDeleted) this.live -= 1;
    return isDeleted;
  }

  /** The tenants of each shard. A shard is read at once, because a change may move its tenants. */
  *shardNames(): Generator<readonly TenantName[]> {
    for (const shard of this.shards) if (shard !== undefined) yield shard.names();
  }
}

interface SetInput {
  readonly hash: number;
  readonly entry: TenantEntry;
}

class Shard {
  private slots = new Uint32Array(SLOTS_MIN);
  private bytes = Buffer.alloc(BYTES_MIN);
  /** Bytes used, removed records included. */
  private end = 0;
  private removedBytes = 0;
  private live = 0;
  /** Slots that are not empty. */
  private filled = 0;

  planOf(name: TenantName, hash: number): number {
    const slot = this.find(name, hash);
    return slot < 0 ? -1 : this.bytes.readUInt32LE(this.offsetAt(slot) + PLAN_AT);
  }

  get(name: TenantName, hash: number): TenantEntry | undefined {
    const slot = this.find(name, hash);
    if (slot < 0) return undefined;
    const { bytes } = this;
    const offset = this.offsetAt(slot);
    return {
      plan: bytes.readUInt32LE(offset + PLAN_AT),
      mark: bytes.readUInt16LE(offset + MARK_AT),
      version: bytes.readDoubleLE(offset + VERSION_AT),
    };
  }

  /** Whether the name is new. */
  set(name: TenantName, { hash, entry }: SetInput): boolean {
    const slot = this.find(name, hash);
    if (slot >= 0) {
      this.write(this.offsetAt(slot), entry);
      return false;
    }
    const { domain, tenant } = name;
    this.makeRoom(HEAD_BYTES + tenant.length);
    const offset = this.end;
    this.bytes.writeUInt16LE(tenant.length, offset);
    this.bytes.writeUInt32LE(domain, offset + DOMAIN_AT);
    this.write(offset, entry);
    this.bytes.write(tenant, offset + HEAD_BYTES, 'latin1');
    this.end += HEAD_BYTES + tenant.length;
    this.insert(hash, offset);
    this.live += 1;
    return true;
  }

  delete(name: TenantName, hash: number): boolean {
    const slot = this.find(name, hash);
    if (slot < 0) return false;
    this.removedBytes += HEAD_BYTES + name.tenant.length;
    this.slots[slot] = REMOVED;
    this.live -= 1;
    return true;
  }

  names(): TenantName[] {
    const found: TenantName[] = [];
    for (const slot of this.slots) if (slot >= OFFSET_BASE) found.push(this.nameAt(slot - OFFSET_BASE));
    return found;
  }

  private offsetAt(slot: number): number {
    return (this.slots[slot] ?? OFFSET_BASE) - OFFSET_BASE;
  }

  private nameAt(offset: number): TenantName {
    const from = offset + HEAD_BYTES;
    const tenant = this.bytes.toString('latin1', from, from + this.bytes.readUInt16LE(offset));
    return { domain: this.bytes.readUInt32LE(offset + DOMAIN_AT), tenant };
  }

  private write(offset: number, { plan, mark, version }: TenantEntry): void {
    this.bytes.writeUInt32LE(plan, offset + PLAN_AT);
    this.bytes.writeUInt16LE(mark, offset + MARK_AT);
    this.bytes.writeDoubleLE(version, offset + VERSION_AT);
  }

  /** The slot of the name, or -1. */
  private find(name: TenantName, hash: number): number {
    const mask = this.slots.length - 1;
    // Ends at an empty slot: at most three quarters are filled.
    for (let at = hash & mask; ; at = (at + 1) & mask) {
      const slot = this.slots[at] ?? EMPTY;
      if (slot === EMPTY) return -1;
      if (slot !== REMOVED && this.isNamed(slot - OFFSET_BASE, name)) return at;
    }
  }

  private isNamed(offset: number, { domain, tenant }: TenantName): boolean {
    const { bytes } = this;
    if (bytes.readUInt16LE(offset) !== tenant.length || bytes.readUInt32LE(offset + DOMAIN_AT) !== domain) return false;
    const from = offset + HEAD_BYTES;
    for (let i = 0; i < tenant.length; i += 1) if (bytes[from + i] !== tenant.charCodeAt(i)) return false;
    return true;
  }

  private insert(hash: number, offset: number): void {
    const mask = this.slots.length - 1;
    let at = hash & mask;
    while ((this.slots[at] ?? EMPTY) !== EMPTY) at = (at + 1) & mask;
    this.slots[at] = offset + OFFSET_BASE;
    this.filled += 1;
  }

  /** Makes room for one more record of this length, and for its slot. */
  private makeRoom(length: number): void {
    const needsBytes = this.end + length > this.bytes.length;
    const needsSlots = this.filled + 1 > this.slots.length * LOAD_MAX;
    if (!needsBytes && !needsSlots) return;
    const needed = this.end - this.removedBytes + length;
    // With many removed slots, copying them away is enough.
    const isCrowded = needsSlots && (this.live + 1) * 2 > this.slots.length * LOAD_MAX;
    this.rebuild({
      bytesLength: Math.max(BYTES_MIN, needsBytes ? Math.ceil(needed * GROWTH) : this.bytes.length),
      slotsLength: isCrowded ? this.slots.length * 2 : this.slots.length,
    });
  }

  /** Copies what is there into new arrays, without what was removed. */
  private rebuild({ bytesLength, slotsLength }: { readonly bytesLength: number; readonly slotsLength: number }): void {
    const { slots, bytes } = this;
    this.slots = new Uint32Array(slotsLength);
    this.bytes = Buffer.allocUnsafeSlow(bytesLength);
    this.end = 0;
    this.removedBytes = 0;
    this.filled = 0;
    for (const slot of slots) {
      if (slot < OFFSET_BASE) continue;
      const offset = slot - OFFSET_BASE;
      const length = HEAD_BYTES + bytes.readUInt16LE(offset);
      bytes.copy(this.bytes, this.end, offset, offset + length);
      const { domain, tenant } = this.nameAt(this.end);
      this.insert(hashOf(domain, tenant), this.end);
      this.end += length;
    }
  }
}

/** FNV-1a over the bytes, mixed once more because its upper bits choose the shard. */
function hashOf(domain: number, tenant: ByteString): number {
  let hash = 0x811c9dc5 ^ Math.imul(domain, 0x9e3779b1);
  for (let i = 0; i < tenant.length; i += 1) hash = Math.imul(hash ^ tenant.charCodeAt(i), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
  return (hash ^ (hash >>> 13)) >>> 0;
}
