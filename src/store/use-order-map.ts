/** A map that knows which of its entries was not used longest. */

interface Entry<Value> {
  readonly key: string;
  value: Value;
  older: Entry<Value> | undefined;
  newer: Entry<Value> | undefined;
}

/**
 * The order is in links of the entries. Deleting a key from a Map and setting it again would keep one too, but a Map leaves what
 * was deleted in its chains until it grows: of a key that is used time and again among 50,000 others each use then
 * walks past all its former ones, for some 80 µs.
 */
export class UseOrderMap<Value> {
  private readonly entries = new Map<string, Entry<Value>>();
  private first: Entry<Value> | undefined;
  private last: Entry<Value> | undefined;

  get size(): number {
    return this.entries.size;
  }

  /** What was not used longest; undefined of an empty map. */
  get oldest(): Value | undefined {
    return this.first?.value;
  }

  /** Only looks: that is no use. */
  get(key: string): Value | undefined {
    return this.entries.get(key)?.value;
  }

  has(key: string): boolean {
    return this.entries.has(key);
  }

  /** Keeps a value; its key is then the one used last. */
  set(key: string, value: Value): void {
    const known = this.entries.get(key);
    const entry = known ?? { key, value, older: undefined, newer: undefined };
    entry.value = value;
    if (known === undefined) this.entries.set(key, entry);
    else if (entry === this.last) return;
    else this.unlink(entry);
    this.append(entry);
  }

  delete(key: string): void {
    const entry = this.entries.get(key);
    if (entry === undefined) return;
    this.unlink(entry);
    this.entries.delete(key);
  }

  deleteOldest(): void {
    if (this.first !== undefined) this.delete(this.first.key);
  }

  clear(): void {
    this.entries.clear();
    this.first = this.last = undefined;
  }

  /** From the one that was not used longest on. */
  *values(): IterableIterator<Value> {
    for (let entry = this.first; entry !== undefined; entry = entry.newer) yield entry.value;
  }

  private append(entry: Entry<Value>): void {
    entry.older = this.last;
    if (this.last === undefined) this.first = entry;
    else this.last.newer = entry;
    this.last = entry;
  }

  private unlink(entry: Entry<Value>): void {
    const { older, newer } = entry;
    if (older === undefined) this.first = newer;
    else older.newer = newer;
    if (newer === undefined) this.last = older;
    else newer.older = older;
    entry.older = entry.newer = undefined;
  }
}
