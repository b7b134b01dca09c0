/** Storage of fixed-size records in pages without gaps, which grows and shrinks with the number of records. */

/** Records of a page: 4096. */
const PLACE_BITS = 12;
const PLACES = 1 << PLACE_BITS;
const PLACE_MASK = PLACES - 1;

/** Ids have 24 bits, so page numbers 12. */
const PAGES_MAX = 1 << 12;

const RECORDS_MAX = PAGES_MAX * PLACES;

/** Never the id of a record, because page 0 does not exist. */
export const NO_RECORD = 0;

/** Unused pages to keep in a pool, because the number of records may vary around the edge of a page. */
const SPARE_PAGES = 1;

/** Where a walk over all records stands: before this record of this pool. */
export interface WalkPlace {
  readonly pool: number;
  readonly record: number;
}

export const WALK_START: WalkPlace = { pool: 0, record: RECORDS_MAX };

/** All records of one size. */
interface Pool {
  readonly recordWords: number;
  /** The pages' numbers. All pages are full, except the last used one and spare ones. */
  readonly pages: number[];
  records: number;
}

interface Page {
  readonly words: Int32Array;
  readonly recordWords: number;
  readonly pool: Pool;
}

/**
 * A record is identified by its id, and its words by their index. Ids only change in `release`: the last
 * record of the same size moves into the free place. So pages are never copied and have no gaps.
 */
export class RecordPages {
  private readonly pages: (Page | undefined)[] = [undefined];
  private readonly freeNumbers: number[] = [];
  /** Indexed by the number of words in a record. */
  private readonly poolOf: (Pool | undefined)[] = [];
  private readonly pools: Pool[] = [];
  /** Position of `next`: this record of this pool. */
  private walkPool = 0;
  private walkRecord = 0;
  private pageWords = 0;

  /** Bytes of all pages; for pages that were never full, the system has allocated only a part. */
  get bytes(): number {
    return this.pageWords * Int32Array.BYTES_PER_ELEMENT;
  }

  get(id: number, word: number): number {
    const { words, recordWords } = this.pageOf(id);
    return words[(id & PLACE_MASK) * recordWords + word] ?? 0;
  }

  set(id: number, word: number, value: number): void {
    const { words, recordWords } = this.pageOf(id);
    words[(id & PLACE_MASK) * recordWords + word] = value;
  }

  /** The array that contains a record, from `offsetOf` on. */
  wordsOf(id: number): Int32Array {
    return this.pageOf(id).words;
  }

  offsetOf(id: number): number {
    return (id & PLACE_MASK) * this.pageOf(id).recordWords;
  }

  /** A new record with arbitrary contents. */
  add(recordWords: number): number {
    const pool = this.poolOf[recordWords] ?? this.addPool(recordWords);
    if (pool.records === pool.pages.length << PLACE_BITS) this.addPage(pool);
    pool.records += 1;
    return idAt(pool, pool.records - 1);
  }

  /** The record that will move when this one is released; `NO_RECORD` if none will. */
  lastLike(id: number): number {
    const { pool } = this.pageOf(id);
    const last = idAt(pool, pool.records - 1);
    return last === id ? NO_RECORD : last;
  }

  /** Releases a record; the record from `lastLike` then has its id. */
  release(id: number): void {
    const { pool, recordWords } = this.pageOf(id);
    const last = idAt(pool, pool.records - 1);
    if (last !== id) {
      const [to, toOffset, from, fromOffset] = [this.wordsOf(id), this.offsetOf(id), this.wordsOf(last), this.offsetOf(last)];
      for (let word = 0; word < recordWords; word += 1) to[toOffset + word] = from[fromOffset + word] ?? 0;
    }
    pool.records -= 1;
    const needed = (pool.records + PLACE_MASK) >>> PLACE_BITS;
    if (pool.pages.length > needed + SPARE_PAGES) this.dropPage(pool);
  }

  /**
   * Walks all records in turn, from the last to the first, so that a record that moves into a released place
   * during the walk has already been visited. `NO_RECORD` without records.
   */
  next(): number {
    for (let pools = this.pools.length; pools >= 0; pools -= 1) {
      const pool = this.pools[this.walkPool];
      if (pool === undefined) return NO_RECORD;
      this.walkRecord = Math.min(this.walkRecord, pool.records) - 1;
      if (this.walkRecord >= 0) return idAt(pool, this.walkRecord);
      this.walkPool = (this.walkPool + 1) % this.pools.length;
      this.walkRecord = RECORDS_MAX;
    }
    return NO_RECORD;
  }

  /**
   * Visits up to `steps` records from a place on, until `visit` returns false, and returns the place after them; undefined at the end. A record that exists during the
   * whole walk is visited at least once, although others move, because each pool is walked from the last record to the first.
   */
  walk({ pool, record }: WalkPlace, steps: number, visit: (id: number) => boolean): WalkPlace | undefined {
    let left = steps;
    for (let number = pool; number < this.pools.length; number += 1) {
      const each = this.pools[number];
      let next = number === pool ? record : RECORDS_MAX;
      next = Math.min(next, each?.records ?? 0);
      while (each !== undefined && next > 0 && left > 0) {
        next -= 1;
        left = visit(idAt(each, next)) ? left - 1 : 0;
      }
      if (next > 0) return { pool: number, record: next };
    }
    return undefined;
  }

  private pageOf(id: number): Page {
    const page = this.pages[id >>> PLACE_BITS];
    if (page === undefined) throw new Error(`no record has the id ${id}`);
    return page;
  }

  private addPool(recordWords: number): Pool {
    const pool: Pool = { recordWords, pages: [], records: 0 };
    this.poolOf[recordWords] = pool;
    this.pools.push(pool);
    return pool;
  }

  private addPage(pool: Pool): void {
    const { recordWords } = pool;
    const number = this.freeNumbers.pop() ?? this.pages.length;
    if (number >= PAGES_MAX) throw new Error(`more than ${PAGES_MAX} pages of records`);
    // The memory is not touched, so the system allocates it as records are added.
    this.pages[number] = { words: new Int32Array(PLACES * recordWords), recordWords, pool };
    this.pageWords += PLACES * recordWords;
    pool.pages.push(number);
  }

  private dropPage(pool: Pool): void {
    const number = pool.pages.pop();
    if (number === undefined) return;
    this.pages[number] = undefined;
    this.freeNumbers.push(number);
    this.pageWords -= PLACES * pool.recordWords;
  }
}

function idAt(pool: Pool, record: number): number {
  const page = pool.pages[record >>> PLACE_BITS];
  if (page === undefined) throw new Error(`no record ${record} of ${pool.recordWords} words`);
  return (page << PLACE_BITS) | (record & PLACE_MASK);
}
