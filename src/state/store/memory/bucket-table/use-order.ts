/** The order of last use of the records of each rank, as links in the records. */

import { NEWER, OLDER } from './record';
import { NO_RECORD, type RecordPages } from './record-pages';

/** The link to the older neighbour has the rank of the record in its highest 8 bits, above the 24 bits of an id. */
const RANK_SHIFT = 24;
const ID_MASK = (1 << RANK_SHIFT) - 1;

export class UseOrder {
  /** By rank. */
  private readonly newest: number[];
  private readonly oldest: number[];
  private readonly counts: number[];

  constructor(
    private readonly records: RecordPages,
    ranks: number,
  ) {
    this.newest = new Array<number>(ranks).fill(NO_RECORD);
    this.oldest = new Array<number>(ranks).fill(NO_RECORD);
    this.counts = new Array<number>(ranks).fill(0);
  }

  /** Number of records of each rank. */
  get sizes(): readonly number[] {
    return this.counts;
  }

  /** The least recently used record of a rank; `NO_RECORD` if none has it. */
  oldestOf(rank: number): number {
    return this.oldest[rank] ?? NO_RECORD;
  }

  rankOf(id: number): number {
    return this.records.get(id, OLDER) >>> RANK_SHIFT;
  }

  /** Reads of both neighbours what `useAs` will change. */
  touchNeighbours(id: number): number {
    const older = this.records.get(id, OLDER) & ID_MASK;
    const newer = this.records.get(id, NEWER);
    return (older === NO_RECORD ? 0 : this.records.get(older, NEWER)) ^ (newer === NO_RECORD ? 0 : this.records.get(newer, OLDER));
  }

  add(id: number, rank: number): void {
    const older = this.newest[rank] ?? NO_RECORD;
    this.records.set(id, NEWER, NO_RECORD);
    this.records.set(id, OLDER, older | (rank << RANK_SHIFT));
    if (older === NO_RECORD) this.oldest[rank] = id;
    else this.records.set(older, NEWER, id);
    this.newest[rank] = id;
    this.counts[rank] = (this.counts[rank] ?? 0) + 1;
  }

  use(id: number): void {
    this.useAs(id, this.rankOf(id));
  }

  /** Marks a record as most recently used, with a new rank. */
  useAs(id: number, rank: number): void {
    if (id === this.newest[rank]) return;
    this.remove(id);
    this.add(id, rank);
  }

  remove(id: number): void {
    const link = this.records.get(id, OLDER);
    const rank = link >>> RANK_SHIFT;
    this.join(link & ID_MASK, this.records.get(id, NEWER), rank);
    this.counts[rank] = (this.counts[rank] ?? 0) - 1;
  }

  /** Prepares a change of a record's id, with all its words. */
  move(from: number, to: number): void {
    const link = this.records.get(from, OLDER);
    const rank = link >>> RANK_SHIFT;
    this.join(link & ID_MASK, to, rank);
    this.join(to, this.records.get(from, NEWER), rank);
  }

  private join(older: number, newer: number, rank: number): void {
    if (older === NO_RECORD) this.oldest[rank] = newer;
    else this.records.set(older, NEWER, newer);
    if (newer === NO_RECORD) this.newest[rank] = older;
    else this.records.set(newer, OLDER, older | (rank << RANK_SHIFT));
  }
}
