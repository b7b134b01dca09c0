/** The hash index of the bucket table: a linear hash of chains of records, which grows and shrinks by one slot at a time. */

import { NEXT } from './record';
import type { RecordPages } from './record-pages';

/** A link is the id of a record and, in its highest 8 bits, those of its hash, which rule out most other keys. */
const ID_BITS = 24;
const ID_MASK = (1 << ID_BITS) - 1;

/** The end of a chain. */
export const NO_LINK = 0;

const PAGE_BITS = 14;
const PAGE_SLOTS = 1 << PAGE_BITS;
const PAGE_MASK = PAGE_SLOTS - 1;

const SLOTS_MIN = 64;

/** With more slots than this for each record, the index shrinks. */
const SLOTS_PER_RECORD_MAX = 2;

/** Unused pages to keep, because the number of records may vary around the edge of a page. */
const SPARE_PAGES = 1;

/**
 * Linear hashing (W. Litwin, 1980), with one slot for each record: growing splits one chain, and shrinking joins
 * two. So no operation moves all records, and a removed record leaves no tombstone.
 */
export class BucketIndex {
  private readonly pages: Int32Array[] = [new Int32Array(PAGE_SLOTS)];
  private slots = SLOTS_MIN;
  /** Mask for every slot: one less than a power of two. */
  private mask = SLOTS_MIN - 1;
  private recordCount = 0;
  private movedCount = 0;

  constructor(
    private readonly records: RecordPages,
    /** Computes the hash of a record's key. */
    private readonly hashOf: (id: number) => number,
  ) {}

  get bytes(): number {
    return this.pages.length * PAGE_SLOTS * Int32Array.BYTES_PER_ELEMENT;
  }

  /** Records relinked by growing or shrinking since the start. */
  get moved(): number {
    return this.movedCount;
  }

  /** The record at the head of the chain of this hash, of whatever key. */
  headOf(hash: number): number {
    return idOf(this.head(this.slotOf(hash)));
  }

  /** A link to the first record whose key may have this hash; `NO_LINK` if none has. */
  first(hash: number): number {
    return this.alike(this.head(this.slotOf(hash)), hash);
  }

  /** A link to the next one after a record from `first` or `next`. */
  next(link: number, hash: number): number {
    return this.alike(this.records.get(idOf(link), NEXT), hash);
  }

  add(id: number, hash: number): void {
    const slot = this.slotOf(hash);
    this.records.set(id, NEXT, this.head(slot));
    this.setHead(slot, linkOf(id, hash));
    this.recordCount += 1;
    if (this.recordCount > this.slots) this.grow();
  }

  remove(id: number): void {
    this.relink(id, this.hashOf(id), this.records.get(id, NEXT));
    this.recordCount -= 1;
    for (let slots = 0; slots < SLOTS_PER_RECORD_MAX; slots += 1) {
      if (this.slots > Math.max(SLOTS_MIN, this.recordCount * SLOTS_PER_RECORD_MAX)) this.shrink();
    }
  }

  /** Prepares a change of a record's id. */
  move(from: number, to: number): void {
    const hash = this.hashOf(from);
    this.relink(from, hash, linkOf(to, hash));
  }

  private alike(from: number, hash: number): number {
    let link = from;
    while (link !== NO_LINK && (link ^ hash) >>> ID_BITS !== 0) link = this.records.get(idOf(link), NEXT);
    return link;
  }

  /** Replaces the link to this record. */
  private relink(id: number, hash: number, link: number): void {
    const slot = this.slotOf(hash);
    let at = this.head(slot);
    if (idOf(at) === id) {
      this.setHead(slot, link);
      return;
    }
    while (at !== NO_LINK) {
      const next = this.records.get(idOf(at), NEXT);
      if (idOf(next) === id) {
        this.records.set(idOf(at), NEXT, link);
        return;
      }
      at = next;
    }
    throw new Error(`record ${id} is not in its chain`);
  }

  private grow(): void {
    const added = this.slots;
    if (added > this.mask) this.mask = (this.mask << 1) | 1;
    if (added >>> PAGE_BITS >= this.pages.length) this.pages.push(new Int32Array(PAGE_SLOTS));
    const split = this.buddyOf(added);
    this.slots += 1;
    let link = this.head(split);
    this.setHead(split, NO_LINK);
    while (link !== NO_LINK) {
      const id = idOf(link);
      const next = this.records.get(id, NEXT);
      const slot = this.slotOf(this.hashOf(id));
      this.records.set(id, NEXT, this.head(slot));
      this.setHead(slot, link);
      this.movedCount += 1;
      link = next;
    }
  }

  private shrink(): void {
    const gone = this.slots - 1;
    const kept = this.buddyOf(gone);
    let link = this.head(gone);
    while (link !== NO_LINK) {
      const next = this.records.get(idOf(link), NEXT);
      this.records.set(idOf(link), NEXT, this.head(kept));
      this.setHead(kept, link);
      this.movedCount += 1;
      link = next;
    }
    this.setHead(gone, NO_LINK);
    this.slots = gone;
    if (this.slots === (this.mask >>> 1) + 1) this.mask >>>= 1;
    if (this.pages.length > (gone >>> PAGE_BITS) + 1 + SPARE_PAGES) this.pages.pop();
  }

  /** The slot from which this one was split. */
  private buddyOf(slot: number): number {
    return slot & (this.mask >>> 1);
  }

  private slotOf(hash: number): number {
    const slot = hash & this.mask;
    return slot < this.slots ? slot : this.buddyOf(slot);
  }

  private head(slot: number): number {
    return this.pages[slot >>> PAGE_BITS]?.[slot & PAGE_MASK] ?? NO_LINK;
  }

  private setHead(slot: number, link: number): void {
    const page = this.pages[slot >>> PAGE_BITS];
    if (page !== undefined) page[slot & PAGE_MASK] = link;
  }
}

/** The id of the record that a link points to. */
export function idOf(link: number): number {
  return link & ID_MASK;
}

function linkOf(id: number, hash: number): number {
  return id | (hash & ~ID_MASK);
}
