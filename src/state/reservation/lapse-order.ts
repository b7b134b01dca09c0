/** The held reservations of one tag in the order of their lapses: a heap, so that the first ones are found without a look at all. */

export interface Lapse {
  readonly expiresUs: number;
  readonly id: string;
}

/** Entries of reservations that were settled or extended stay until they come first; at this multiple of the others they all go. */
const STALE_FACTOR = 2;
const ENTRIES_MIN = 64;

export class LapseOrder {
  /** A binary heap: no entry lapses before the one at half its place. */
  private entries: Lapse[] = [];

  /** `current`: the reservations that are held, with the lapse of each. */
  constructor(private readonly current: ReadonlyMap<string, { readonly record: Pick<Lapse, 'expiresUs'> }>) {}

  add(lapse: Lapse): void {
    if (this.entries.length >= ENTRIES_MIN + STALE_FACTOR * this.current.size) this.rebuild();
    this.push(lapse);
  }

  /** The first lapse; undefined if nothing is held. */
  first(): Lapse | undefined {
    let [first] = this.entries;
    while (first !== undefined && !this.isCurrent(first)) {
      this.pop();
      [first] = this.entries;
    }
    return first;
  }

  /** The first lapses up to this time, at most `max`. */
  due(nowUs: number, max: number): readonly Lapse[] {
    const due: Lapse[] = [];
    for (let first = this.first(); first !== undefined && first.expiresUs <= nowUs && due.length < max; first = this.first()) {
      // An extension by nothing adds the same entry again, which then follows at once.
      if (due.at(-1)?.id !== first.id) due.push(first);
      this.pop();
    }
    for (const lapse of due) this.push(lapse);
    return due;
  }

  private isCurrent({ id, expiresUs }: Lapse): boolean {
    return this.current.get(id)?.record.expiresUs === expiresUs;
  }

  private rebuild(): void {
    const entries = [...this.current].map(([id, { record }]) => ({ id, expiresUs: record.expiresUs }));
    // A sorted list is a heap.
    this.entries = entries.sort((one, other) => (isBefore(one, other) ? -1 : 1));
  }

  private push(lapse: Lapse): void {
    const { entries } = this;
    let place = entries.push(lapse) - 1;
    while (place > 0) {
      const above = (place - 1) >> 1;
      const parent = entries[above];
      if (parent === undefined || !isBefore(lapse, parent)) break;
      entries[place] = parent;
      place = above;
    }
    entries[place] = lapse;
  }

  private pop(): void {
    const { entries } = this;
    const last = entries.pop();
    if (last === undefined || entries.length === 0) return;
    let place = 0;
    for (;;) {
      let below = 2 * place + 1;
      const [left, right] = [entries[below], entries[below + 1]];
      if (left === undefined) break;
      let next = left;
      if (right !== undefined && isBefore(right, left)) {
        below += 1;
        next = right;
      }
      if (!isBefore(next, last)) break;
      entries[place] = next;
      place = below;
    }
    entries[place] = last;
  }
}

/** Ids that lapse together in the order of their bytes, as Redis sorts them. */
function isBefore(one: Lapse, other: Lapse): boolean {
  return one.expiresUs < other.expiresUs || (one.expiresUs === other.expiresUs && one.id < other.id);
}
