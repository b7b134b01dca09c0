/** A map in small parts: one large Map would block the event loop for many milliseconds whenever it grows. */

const SHARDS = 512;

export class ShardedMap<Value> {
  private readonly shards = new Array<Map<string, Value> | undefined>(SHARDS).fill(undefined);
  private count = 0;

  get size(): number {
    return this.count;
  }

  get(key: string): Value | undefined {
    return this.shards[shardOf(key)]?.get(key);
  }

  set(key: string, value: Value): void {
    const shard = (this.shards[shardOf(key)] ??= new Map<string, Value>());
    const before = shard.size;
    shard.set(key, value);
    this.count += shard.size - before;
  }

  delete(key: string): boolean {
    const isDeleted = this.shards[shardOf(key)]?.delete(key) === true;
    if (isDeleted) this.count -= 1;
    return isDeleted;
  }

  get shardCount(): number {
    return SHARDS;
  }

  /** The values of one part. */
  shard(index: number): Iterable<Value> {
    return this.shards[index]?.values() ?? [];
  }

  *values(): Generator<Value> {
    for (const shard of this.shards) if (shard !== undefined) yield* shard.values();
  }
}

/** Hashes all characters: names may differ at any place. */
function shardOf(key: string): number {
  let hash = key.length;
  for (let i = 0; i < key.length; i += 1) hash = Math.imul(hash, 31) + key.charCodeAt(i);
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
  return (hash ^ (hash >>> 13)) & (SHARDS - 1);
}
