/** The dynamic table of the decoder (RFC 7541, 2.3.2) as a ring, so that eviction moves nothing. */

import { fieldSize, type HeaderField } from './header-field';

/** The maximum size, which is HTTP/2's default. */
export const TABLE_SIZE_MAX = 4096;

/** A field counts at least 32 bytes. A power of two, so that an index wraps with `&`. */
const SLOTS = TABLE_SIZE_MAX / 32;

export class HpackDynamicTable {
  /** Changes whenever an index may have another meaning. */
  generation = 0;
  private readonly slots: (HeaderField | undefined)[] = [];
  private next = 0;
  private count = 0;
  private size = 0;
  private maxSize = TABLE_SIZE_MAX;

  /** The newest field has index 0. */
  get(index: number): HeaderField | undefined {
    return index < this.count ? this.slots[(this.next - 1 - index) & (SLOTS - 1)] : undefined;
  }

  add(field: HeaderField): void {
    const size = fieldSize(field);
    this.generation += 1;
    this.evictTo(this.maxSize - size);
    // A field larger than the table empties it, and is not an error.
    if (size > this.maxSize) return;
    this.slots[this.next & (SLOTS - 1)] = field;
    this.next = (this.next + 1) & (SLOTS - 1);
    this.count += 1;
    this.size += size;
  }

  /** `maxSize` is at most `TABLE_SIZE_MAX`. */
  resize(maxSize: number): void {
    this.maxSize = maxSize;
    this.generation += 1;
    this.evictTo(maxSize);
  }

  private evictTo(size: number): void {
    while (this.count > 0 && this.size > size) {
      const oldest = (this.next - this.count) & (SLOTS - 1);
      const field = this.slots[oldest];
      this.slots[oldest] = undefined;
      this.count -= 1;
      if (field !== undefined) this.size -= fieldSize(field);
    }
  }
}
