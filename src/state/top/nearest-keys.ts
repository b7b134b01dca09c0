/** The keys that used the largest share of their limit, in bounded memory. */

/** Shares are counted in thousandths. */
export const SHARE_MAX = 1_000;

const NONE = -1;

/**
 * Keeps the keys with the largest share seen; the share of a key that is there is exact, because only the largest counts: a key that
 * was replaced returns with a later, larger share. Keys with equal shares are in one list, so every update is O(1), apart from the
 * search for the smallest share, which only grows.
 */
export class NearestKeys {
  /** By slot. */
  readonly keys: string[] = [];
  readonly shares: Int32Array;
  /** Admitted hits near the limit, since the key is there. */
  readonly counts: Float64Array;
  /** The largest share of a key that is not there. */
  unlisted = 0;
  /** Hits of all keys. */
  total = 0;
  private readonly slotByKey = new Map<string, number>();
  /** By share: the first slot of its list. */
  private readonly first = new Int32Array(SHARE_MAX + 1).fill(NONE);
  private readonly next: Int32Array;
  private readonly previous: Int32Array;
  private smallest = 0;

  constructor(readonly capacity: number) {
    this.shares = new Int32Array(capacity);
    this.counts = new Float64Array(capacity);
    this.next = new Int32Array(capacity);
    this.previous = new Int32Array(capacity);
  }

  get size(): number {
    return this.keys.length;
  }

  /** Counts hits of a key if it is there. `hint`: its last slot, looked at first, or -1. Returns its slot, or -1. */
  count(key: string, hint: number, near: NearHits): number {
    const slot = hint >= 0 && this.keys[hint] === key ? hint : (this.slotByKey.get(key) ?? NONE);
    if (slot !== NONE) this.addAt(slot, near);
    return slot;
  }

  /** Takes a key in that is not there, if a slot is free or its share exceeds the smallest one. Returns its slot, or -1. */
  insert(key: string, { share, hits }: NearHits): number {
    const isFull = this.size === this.capacity;
    if (isFull && share <= this.smallestShare()) {
      this.total += hits;
      this.unlisted = Math.max(this.unlisted, share);
      return NONE;
    }
    const slot = isFull ? this.evict() : this.size;
    this.keys[slot] = key;
    this.slotByKey.set(key, slot);
    this.counts[slot] = 0;
    this.link(slot, share);
    this.addAt(slot, { share, hits });
    return slot;
  }

  clear(): void {
    this.keys.length = 0;
    this.total = 0;
    this.unlisted = 0;
    this.smallest = 0;
    this.first.fill(NONE);
    this.slotByKey.clear();
  }

  private addAt(slot: number, { share, hits }: NearHits): void {
    this.total += hits;
    this.counts[slot] = (this.counts[slot] ?? 0) + hits;
    if (share <= (this.shares[slot] ?? 0)) return;
    this.unlink(slot);
    this.link(slot, share);
  }

  private evict(): number {
    const slot = this.first[this.smallestShare()] ?? 0;
    this.unlisted = Math.max(this.unlisted, this.shares[slot] ?? 0);
    this.slotByKey.delete(this.keys[slot] ?? '');
    this.unlink(slot);
    return slot;
  }

  private smallestShare(): number {
    while (this.smallest < SHARE_MAX && this.first[this.smallest] === NONE) this.smallest += 1;
    return this.smallest;
  }

  private link(slot: number, share: number): void {
    const head = this.first[share] ?? NONE;
    this.shares[slot] = share;
    this.next[slot] = head;
    this.previous[slot] = NONE;
    if (head !== NONE) this.previous[head] = slot;
    this.first[share] = slot;
    this.smallest = Math.min(this.smallest, share);
  }

  private unlink(slot: number): void {
    const next = this.next[slot] ?? NONE;
    const previous = this.previous[slot] ?? NONE;
    if (previous === NONE) this.first[this.shares[slot] ?? 0] = next;
    else this.next[previous] = next;
    if (next !== NONE) this.previous[next] = previous;
  }
}

export interface NearHits {
  /** From 0 to SHARE_MAX. */
  readonly share: number;
  readonly hits: number;
}
