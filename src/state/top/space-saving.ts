/** Filtered Space-Saving: counts the keys of a stream with the most hits in bounded memory. */

/** Cells of the filter, and places of the table of keys, for each counter. Both numbers are rounded up to a power of two. */
const CELLS_A_COUNTER = 4;
const PLACES_A_COUNTER = 2;

const FREE = -1;

/**
 * Metwally, Agrawal, El Abbadi, "Efficient Computation of Frequent and Top-k Elements in Data Streams" (2005), with the filter of
 * Homem and Carvalho, "Finding top-k elements in data streams" (2010). With m counters and N hits the count of a key is never too low.
 * It is too high by at most the smallest count, which is at most N / m. Every key with more than N / m hits has a counter.
 *
 * Keys without a counter are counted together in the cell of the filter that their hash selects. Only when a cell reaches the smallest
 * count can its key be frequent, and takes that counter. So most keys that come once cost one addition, and errors are far below the
 * bound.
 *
 * The counters are a min-heap and not the paper's list of buckets, because hits have weights: a hit costs O(1) for a key that is
 * already frequent, and at most O(log m). Only a key that gets a counter allocates anything.
 */
export class SpaceSaving {
  /** By counter. A counter stays where it is; the heap holds its number. */
  readonly keys: string[] = [];
  readonly counts: Float64Array;
  /** By how much each count may be too high. */
  readonly errors: Float64Array;
  /** Hits of all keys. */
  total = 0;
  private readonly hashes: Int32Array;
  private readonly heap: Uint32Array;
  /** The place of each counter in the heap. */
  private readonly places: Uint32Array;
  /** Hits of keys without a counter, by the low bits of their hash. */
  private readonly cells: Float64Array;
  /** Counters by the low bits of the hash of their key, or at the next free place. */
  private readonly table: Int32Array;

  constructor(readonly capacity: number) {
    this.counts = new Float64Array(capacity);
    this.errors = new Float64Array(capacity);
    this.hashes = new Int32Array(capacity);
    this.heap = new Uint32Array(capacity);
    this.places = new Uint32Array(capacity);
    this.cells = new Float64Array(powerOfTwo(CELLS_A_COUNTER * capacity));
    this.table = new Int32Array(powerOfTwo(PLACES_A_COUNTER * capacity)).fill(FREE);
  }

  /** The number of keys with a counter. */
  get size(): number {
    return this.keys.length;
  }

  /** The most hits that a key without a counter can have. */
  get unlisted(): number {
    let most = 0;
    for (const cell of this.cells) if (cell > most) most = cell;
    return most;
  }

  /**
   * Counts hits of a key that has a counter. `hint`: its last counter, looked at first; -1: none. Returns its counter, or -1.
   */
  count({ key, hash }: HashedKey, hint: number, hits: number): number {
    const counter = hint >= 0 && this.keys[hint] === key ? hint : this.find(key, hash);
    if (counter >= 0) {
      this.total += hits;
      this.addAt(counter, hits);
    }
    return counter;
  }

  /** Counts hits of a key without a counter. Returns whether it may be frequent: then the caller lets it `enter`. */
  filter({ hash }: HashedKey, hits: number): boolean {
    this.total += hits;
    if (this.size < this.capacity) return true;
    const cell = hash & (this.cells.length - 1);
    const most = (this.cells[cell] ?? 0) + hits;
    if (most > (this.counts[this.heap[0] ?? 0] ?? 0)) return true;
    this.cells[cell] = most;
    return false;
  }

  /** Gives a counter to a key that passed the filter, in place of the one with the smallest count if all are in use. Returns its counter. */
  enter({ key, hash }: HashedKey, hits: number): number {
    const isFull = this.size === this.capacity;
    const error = this.cells[hash & (this.cells.length - 1)] ?? 0;
    const counter = isFull ? this.evict() : this.size;
    this.keys[counter] = key;
    this.hashes[counter] = hash;
    this.errors[counter] = error;
    this.link(counter);
    if (isFull) {
      this.counts[counter] = 0;
      this.addAt(counter, error + hits);
      return counter;
    }
    this.counts[counter] = error + hits;
    this.rise(counter);
    return counter;
  }

  clear(): void {
    this.keys.length = 0;
    this.total = 0;
    this.cells.fill(0);
    this.table.fill(FREE);
  }

  private find(key: string, hash: number): number {
    const { table, hashes, keys } = this;
    const mask = table.length - 1;
    for (let place = hash & mask; ; place = (place + 1) & mask) {
      const counter = table[place] ?? FREE;
      if (counter === FREE || (hashes[counter] === hash && isSame(keys[counter] ?? '', key))) return counter;
    }
  }

  private addAt(counter: number, hits: number): void {
    this.counts[counter] = (this.counts[counter] ?? 0) + hits;
    this.sink(this.places[counter] ?? 0);
  }

  /** Frees the counter with the smallest count: its key may have as many hits. */
  private evict(): number {
    const counter = this.heap[0] ?? 0;
    this.cells[(this.hashes[counter] ?? 0) & (this.cells.length - 1)] = this.counts[counter] ?? 0;
    this.unlink(counter);
    return counter;
  }

  private link(counter: number): void {
    const { table } = this;
    const mask = table.length - 1;
    let place = (this.hashes[counter] ?? 0) & mask;
    while (table[place] !== FREE) place = (place + 1) & mask;
    table[place] = counter;
  }

  /** Moves later counters up, so that none is behind a free place. */
  private unlink(counter: number): void {
    const { table, hashes } = this;
    const mask = table.length - 1;
    let free = (hashes[counter] ?? 0) & mask;
    while (table[free] !== counter) free = (free + 1) & mask;
    for (let place = (free + 1) & mask; ; place = (place + 1) & mask) {
      const other = table[place] ?? FREE;
      if (other === FREE) break;
      const home = (hashes[other] ?? 0) & mask;
      if (((place - home) & mask) < ((place - free) & mask)) continue;
      table[free] = other;
      free = place;
    }
    table[free] = FREE;
  }

  /** Restores the heap below a place whose count has grown. */
  private sink(from: number): void {
    const { heap, places, counts, size } = this;
    const counter = heap[from] ?? 0;
    const count = counts[counter] ?? 0;
    let place = from;
    for (let child = 2 * place + 1; child < size; child = 2 * place + 1) {
      let least = heap[child] ?? 0;
      const right = heap[child + 1] ?? 0;
      if (child + 1 < size && (counts[right] ?? 0) < (counts[least] ?? 0)) {
        least = right;
        child += 1;
      }
      if ((counts[least] ?? 0) >= count) break;
      heap[place] = least;
      places[least] = place;
      place = child;
    }
    heap[place] = counter;
    places[counter] = place;
  }

  /** Moves a new counter from the end of the heap to its place. */
  private rise(counter: number): void {
    const { heap, places, counts } = this;
    const count = counts[counter] ?? 0;
    let place = counter;
    while (place > 0) {
      const above = (place - 1) >> 1;
      const parent = heap[above] ?? 0;
      if ((counts[parent] ?? 0) <= count) break;
      heap[place] = parent;
      places[parent] = place;
      place = above;
    }
    heap[place] = counter;
    places[counter] = place;
  }
}

export interface HashedKey {
  readonly key: string;
  /** `hashOfKey(key)`. */
  readonly hash: number;
}

/** V8 first copies a slice of a message to compare it with `===`, which costs ten times as much as this. */
function isSame(a: string, b: string): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i += 1) if (a.charCodeAt(i) !== b.charCodeAt(i)) return false;
  return true;
}

/** Differs between processes, so that nobody can choose keys of one cell. */
const SEED = Math.floor(Math.random() * 2 ** 32);

/** 32 bits; the low ones are well mixed. */
export function hashOfKey(key: string): number {
  let hash = SEED ^ key.length;
  for (let i = 0; i < key.length; i += 1) hash = Math.imul(hash ^ key.charCodeAt(i), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x2c1b3c6d);
  return hash ^ (hash >>> 15);
}

function powerOfTwo(atLeast: number): number {
  return 2 ** Math.ceil(Math.log2(atLeast));
}
