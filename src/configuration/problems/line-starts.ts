/** Line starts of a text, and the line and column of an offset. */

export interface LinePlace {
  /** From 1. */
  readonly line: number;
  /** From 1, in UTF-16 units. */
  readonly column: number;
}

/** Lines end at line feeds. */
export function lineStartsOf(text: string): Int32Array {
  let starts = new Int32Array(256);
  let count = 0;
  let start = 0;
  do {
    if (count === starts.length) starts = withRoom(starts);
    starts[count] = start;
    count += 1;
    start = text.indexOf('\n', start) + 1;
  } while (start > 0);
  return starts.slice(0, count);
}

function withRoom(starts: Int32Array): Int32Array<ArrayBuffer> {
  const larger = new Int32Array(2 * starts.length);
  larger.set(starts);
  return larger;
}

export function placeAt(starts: Int32Array, offset: number): LinePlace {
  let low = 0;
  let high = starts.length;
  // The last line that begins at the offset or before it.
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if ((starts[middle] ?? 0) <= offset) low = middle;
    else high = middle;
  }
  return { line: low + 1, column: offset - (starts[low] ?? 0) + 1 };
}
