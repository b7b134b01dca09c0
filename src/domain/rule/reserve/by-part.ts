/** Caches what is made of an object for each part that is kept: the same object each time, because later steps know it by its identity. */

export class ByPart<Key extends object, Made> {
  private readonly known = new WeakMap<Key, Map<number, Made>>();

  constructor(private readonly make: (key: Key, part: number) => Made) {}

  of(key: Key, part: number): Made {
    let ofKey = this.known.get(key);
    const before = ofKey?.get(part);
    if (before !== undefined) return before;
    const made = this.make(key, part);
    if (ofKey === undefined) this.known.set(key, (ofKey = new Map<number, Made>()));
    ofKey.set(part, made);
    return made;
  }
}
