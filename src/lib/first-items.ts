/** The first items of a sequence in an order, without keeping or sorting all of it. */

export interface FirstItemsOptions<T> {
  /** Most items. */
  readonly max: number;
  readonly compare: (one: T, other: T) => number;
}

export class FirstItems<T> {
  private kept: T[] = [];
  private hasMore = false;
  /** The last of the first items so far; undefined: there are fewer. */
  private last: T | undefined;

  constructor(private readonly options: FirstItemsOptions<T>) {}

  add(item: T): void {
    const { max, compare } = this.options;
    if (this.last !== undefined && compare(item, this.last) >= 0) {
      this.hasMore = true;
      return;
    }
    this.kept.push(item);
    if (this.kept.length >= 2 * max) this.cut();
  }

  /** In their order; `hasMore`: others were added. */
  finish(): { readonly items: readonly T[]; readonly hasMore: boolean } {
    this.cut();
    return { items: this.kept, hasMore: this.hasMore };
  }

  private cut(): void {
    const { max, compare } = this.options;
    this.kept.sort(compare);
    if (this.kept.length > max) this.hasMore = true;
    this.kept.length = Math.min(this.kept.length, max);
    this.last = this.kept.length === max ? this.kept[max - 1] : undefined;
  }
}
