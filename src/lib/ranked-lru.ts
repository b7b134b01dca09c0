/** A map with an LRU order of its entries in each rank. */

interface Entry<Value> {
  readonly key: string;
  value: Value;
  rank: number;
  older: Entry<Value> | undefined;
  newer: Entry<Value> | undefined;
}

/**
 * The order is in links of the entries. Deleting and setting a key of a Map would keep an order too, but a Map keeps
 * deleted entries in its chains until it grows: for a frequently used key among 50,000 others, each use would then
 * walk past all its former entries, for about 80 µs.
 */
export class RankedLruMap<Value> {
  private readonly entries = new Map<string, Entry<Value>>();
  /** By rank. */
  private readonly first: (Entry<Value> | undefined)[];
  private readonly last: (Entry<Value> | undefined)[];
  private readonly counts: number[];

  /** `ranks`: number of ranks, which count from 0. */
  constructor({ ranks = 1 }: { readonly ranks?: number } = {}) {
    this.first = new Array<undefined>(ranks).fill(undefined);
    this.last = new Array<undefined>(ranks).fill(undefined);
    this.counts = new Array<number>(ranks).fill(0);
  }

  get size(): number {
    return this.entries.size;
  }

  /** Number of entries of each rank. */
  get sizes(): readonly number[] {
    return this.counts;
  }

  /** The least recently used value of a rank; undefined if it has none. */
  oldestOf(rank = 0): Value | undefined {
    return this.first[rank]?.value;
  }

  /** Does not count as a use. */
  get(key: string): Value | undefined {
    return this.entries.get(key)?.value;
  }

  has(key: string): boolean {
    return this.entries.has(key);
  }

  /** Stores a value; its key becomes the most recently used one. Without `rank` an entry keeps its rank, and a new one gets the lowest. */
  set(key: string, value: Value, rank?: number): void {
    const known = this.entries.get(key);
    const entry = known ?? { key, value, rank: rank ?? 0, older: undefined, newer: undefined };
    entry.value = value;
    const isLast = entry === this.last[entry.rank];
    if (isLast && (rank ?? entry.rank) === entry.rank) return;
    if (known === undefined) this.entries.set(key, entry);
    else this.unlink(entry);
    entry.rank = rank ?? entry.rank;
    this.append(entry);
  }

  delete(key: string): void {
    const entry = this.entries.get(key);
    if (entry === undefined) return;
    this.unlink(entry);
    this.entries.delete(key);
  }

  deleteOldest(): void {
    const [first] = this.first;
    if (first !== undefined) this.delete(first.key);
  }

  clear(): void {
    this.entries.clear();
    this.first.fill(undefined);
    this.last.fill(undefined);
    this.counts.fill(0);
  }

  /** Rank by rank, each from the least recently used value on. */
  *values(): IterableIterator<Value> {
    for (const first of this.first) for (let entry = first; entry !== undefined; entry = entry.newer) yield entry.value;
  }

  private append(entry: Entry<Value>): void {
    const { rank } = entry;
    const last = this.last[rank];
    entry.older = last;
    if (last === undefined) this.first[rank] = entry;
    else last.newer = entry;
    this.last[rank] = entry;
    this.counts[rank] = (this.counts[rank] ?? 0) + 1;
  }

  private unlink(entry: Entry<Value>): void {
    const { rank, older, newer } = entry;
    if (older === undefined) this.first[rank] = newer;
    else older.newer = newer;
    if (newer === undefined) this.last[rank] = older;
    else newer.older = older;
    entry.older = entry.newer = undefined;
    this.counts[rank] = (this.counts[rank] ?? 0) - 1;
  }
}
