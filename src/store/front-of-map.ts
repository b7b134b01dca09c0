/** Walks along the front of a map whose entries move to its end when they are used: the first is the one not used longest. */

/** Uses without a walk after which the iterator is let go of. */
const IDLE_MAX = 1_000;

/**
 * A new iterator would pass every entry that has gone before it finds the first, so one is kept. But not for long: a Map
 * keeps all its tables that an iterator has not left yet, and each round of moves makes a new one.
 */
export class FrontOfMap<Key> {
  private iterator: Iterator<Key> | undefined;
  private idle = 0;

  constructor(private readonly map: ReadonlyMap<Key, unknown>) {}

  /** The first key that has not been walked past; undefined of an empty map. */
  next(): Key | undefined {
    this.idle = 0;
    this.iterator ??= this.map.keys();
    const first = this.iterator.next();
    if (first.done !== true) return first.value;
    this.iterator = this.map.keys();
    const again = this.iterator.next();
    return again.done === true ? undefined : again.value;
  }

  /** To be called at every use of the map. */
  used(): void {
    if (this.iterator === undefined) return;
    this.idle += 1;
    if (this.idle > IDLE_MAX) this.iterator = undefined;
  }
}
