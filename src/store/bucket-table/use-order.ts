/** The order in which records were last used, as links in the records themselves. */

import { NEWER, OLDER } from './record';
import { NO_RECORD, type RecordPages } from './record-pages';

export class UseOrder {
  private newest = NO_RECORD;
  private oldestId = NO_RECORD;

  constructor(private readonly records: RecordPages) {}

  /** The record that was not used longest; `NO_RECORD` if there is none. */
  get oldest(): number {
    return this.oldestId;
  }

  add(id: number): void {
    this.records.set(id, NEWER, NO_RECORD);
    this.records.set(id, OLDER, this.newest);
    if (this.newest === NO_RECORD) this.oldestId = id;
    else this.records.set(this.newest, NEWER, id);
    this.newest = id;
  }

  use(id: number): void {
    if (id === this.newest) return;
    this.remove(id);
    this.add(id);
  }

  remove(id: number): void {
    this.join(this.records.get(id, OLDER), this.records.get(id, NEWER));
  }

  /** A record is about to get another id, with all its words. */
  move(from: number, to: number): void {
    this.join(this.records.get(from, OLDER), to);
    this.join(to, this.records.get(from, NEWER));
  }

  private join(older: number, newer: number): void {
    if (older === NO_RECORD) this.oldestId = newer;
    else this.records.set(older, NEWER, newer);
    if (newer === NO_RECORD) this.newest = older;
    else this.records.set(newer, OLDER, older);
  }
}
