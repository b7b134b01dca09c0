/** Items that end, ordered by their end: a binary heap from which any item can be removed. */

/** An item belongs to one queue. */
export interface Expiry<Key> {
  /** In the unit of the queue's owner. */
  readonly until: number;
  readonly key: Key;
}

interface Placed<Key> extends Expiry<Key> {
  place: number;
}

export class ExpiryQueue<Key> {
  private readonly heap: Placed<Key>[] = [];

  /** The item that ends first; undefined: none. */
  get first(): Expiry<Key> | undefined {
    return this.heap[0];
  }

  add(until: number, key: Key): Expiry<Key> {
    const item: Placed<Key> = { until, key, place: this.heap.length };
    this.heap.push(item);
    this.rise(item);
    return item;
  }

  remove(item: Expiry<Key>): void {
    const { place } = item as Placed<Key>;
    const last = this.heap.pop();
    if (last === undefined || last === item) return;
    this.put(last, place);
    this.rise(last);
    this.sink(last);
  }

  private rise(item: Placed<Key>): void {
    while (item.place > 0) {
      const parent = this.heap[(item.place - 1) >> 1];
      if (parent === undefined || parent.until <= item.until) return;
      const { place } = parent;
      this.put(parent, item.place);
      this.put(item, place);
    }
  }

  private sink(item: Placed<Key>): void {
    for (;;) {
      const left = this.heap[2 * item.place + 1];
      const right = this.heap[2 * item.place + 2];
      const child = right !== undefined && left !== undefined && right.until < left.until ? right : left;
      if (child === undefined || item.until <= child.until) return;
      const { place } = child;
      this.put(child, item.place);
      this.put(item, place);
    }
  }

  private put(item: Placed<Key>, place: number): void {
    this.heap[place] = item;
    item.place = place;
  }
}
