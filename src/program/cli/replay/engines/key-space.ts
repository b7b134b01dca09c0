/** The keys of a replay that is decided by key: their numbers, and which of them are forgotten when there are too many. */

import { KeyTable } from '../../../offline/keyed/key-table';
import { NO_KEY } from '../../../offline/keyed/keyed-engine';

/** The data about keys that one engine has. */
export interface KeyData {
  /** The time from which on the bucket of a key is full again; 0: it is full. */
  endOf(form: number, key: number): number;
  keep(form: number, kept: Int32Array): void;
}

/** After keys were forgotten, at most this part of the room is in use. */
const KEPT_MAX = 0.75;

export class KeySpace {
  /** By form: the key of the request, or NO_KEY. */
  readonly keys: Int32Array;
  /** Keys that were forgotten before their buckets were full again. */
  evictions = 0;
  readonly tables: readonly KeyTable[];
  private readonly data: KeyData[] = [];

  constructor(
    forms: number,
    private readonly keysMax: number,
  ) {
    this.keys = new Int32Array(forms);
    this.tables = Array.from({ length: forms }, () => new KeyTable());
  }

  add(data: KeyData): void {
    this.data.push(data);
  }

  /** Finds the keys of a request: by form, the text of its key. */
  find(texts: readonly (string | undefined)[], nowUs: number): void {
    for (let form = 0; form < this.tables.length; form += 1) {
      const text = texts[form];
      const table = this.tables[form];
      if (text === undefined || table === undefined) {
        this.keys[form] = NO_KEY;
        continue;
      }
      if (table.size >= this.keysMax) this.forget(form, table, nowUs);
      this.keys[form] = table.numberOf(text);
    }
  }

  /** Forgets the keys whose buckets are full, and if those are too few, the oldest. */
  private forget(form: number, table: KeyTable, nowUs: number): void {
    const alive: number[] = [];
    for (let key = 0; key < table.size; key += 1) if (this.data.some((each) => each.endOf(form, key) > nowUs)) alive.push(key);
    const tooMany = Math.max(0, alive.length - Math.floor(this.keysMax * KEPT_MAX));
    this.evictions += tooMany;
    const kept = Int32Array.from(tooMany === 0 ? alive : alive.slice(tooMany));
    for (const each of this.data) each.keep(form, kept);
    table.keep(kept);
  }
}
