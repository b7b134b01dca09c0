/** Places for records of a fixed number of words each, without gaps, in pages that come as records do and go with them. */

/** Records of a page: 4096. */
const PLACE_BITS = 12;
const PLACES = 1 << PLACE_BITS;
const PLACE_MASK = PLACES - 1;

/** Ids have 24 bits, so page numbers 12. */
const PAGES_MAX = 1 << 12;

const RECORDS_MAX = PAGES_MAX * PLACES;

/** No record has this id: there is no page 0. */
export const NO_RECORD = 0;

/** Pages that a pool keeps though it needs them no more: records come and go around the edge of a page. */
const SPARE_PAGES = 1;

/** All records of one size. */
interface Pool {
  readonly recordWords: number;
  /** The pages' numbers; every page but the last is full, and spare ones. */
  readonly pages: number[];
  records: number;
}

interface Page {
  readonly words: Int32Array;
  readonly recordWords: number;
  readonly pool: Pool;
}

/**
 * A record is known by its id, and words of it by their place in the record. The id changes only when `release` says so: the last
 * record of the same size moves into the place of the one that is released. So a page is never copied and never has gaps.
 */
export class RecordPages {
  private readonly pages: (Page | undefined)[] = [undefined];
  private readonly freeNumbers: number[] = [];
  /** By the words of their records. */
  private readonly poolOf: (Pool | undefined)[] = [];
  private readonly pools: Pool[] = [];
  /** Where `next` has been: at this record of this pool. */
  private walkPool = 0;
  private walkRecord = 0;
  private pageWords = 0;

  /** Bytes of all pages; of one that has never been full the system has given only a part. */
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

  /** The words among which a record lies, from `offsetOf` on. */
  wordsOf(id: number): Int32Array {
    return this.pageOf(id).words;
  }

  offsetOf(id: number): number {
    return (id & PLACE_MASK) * this.pageOf(id).recordWords;
  }

  /** A new record, with whatever words were in its place. */
  add(recordWords: number): number {
    const pool = this.poolOf[recordWords] ?? this.addPool(recordWords);
    if (pool.records === pool.pages.length << PLACE_BITS) this.addPage(pool);
    pool.records += 1;
    return idAt(pool, pool.records - 1);
  }

  /** The record that is to move when this one is released; `NO_RECORD` if none is. */
  lastLike(id: number): number {
    const { pool } = this.pageOf(id);
    const last = idAt(pool, pool.records - 1);
    return last === id ? NO_RECORD : last;
  }

  /** Lets go of a record. What `lastLike` said has its id from then on. */
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
   * Walks round and round, from the last record to the first: what moves into the place of one that is released on
   * the way has been passed already. `NO_RECORD` if there is none.
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
    // Not touched here: the system gives the memory as records come.
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
