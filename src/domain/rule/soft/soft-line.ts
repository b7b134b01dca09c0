/** Soft lines: parts of a limit from which on requests still pass, with headers and metadata that say so. */

export interface SoftLine extends Line {
  /** Part of the capacity, in millionths: over 0, at most 1,000,000. */
  readonly at: number;
  /** For the backend. */
  readonly requestHeaders: readonly SoftHeader[];
  /** For the client. */
  readonly responseHeaders: readonly SoftHeader[];
}

export interface SoftHeader {
  readonly name: string;
  readonly value: string;
}

/** A part of the capacity, as in `SoftLine`. */
export interface Line {
  readonly at: number;
}

/** `SoftLine.at` of the whole capacity. */
export const WHOLE_AT = 1_000_000;

const WHOLE = BigInt(WHOLE_AT);

/** Used hits from which on the line is passed; by line, because a limit of control data has other numbers with the same lines. */
const thresholds = new WeakMap<Line, { readonly capacity: number; readonly hits: number }>();

/** A bucket as lines see it: they are parts of the whole limit, whatever the class of a reserve may use of it. */
export function wholeBucket(
  { remaining, debt = 0 }: { readonly remaining: number; readonly debt?: number },
  limit: { readonly capacity: number; readonly reserved?: number },
) {
  const { capacity, reserved = 0 } = limit;
  return { capacity: capacity + reserved, remaining: reserved === 0 ? remaining : Math.max(0, remaining + reserved - debt) };
}

/** The highest line that the used hits of a bucket have passed; undefined: none. The lines are in ascending order. */
export function passedLine<Kind extends Line>(
  lines: readonly Kind[],
  bucket: { readonly capacity: number; readonly remaining: number },
): Kind | undefined {
  const used = bucket.capacity - bucket.remaining;
  return lines.findLast((line) => used >= thresholdOf(line, bucket.capacity));
}

/** Rounded up: at 80 % of 3 hits, the third passes the line. */
function thresholdOf(line: Line, capacity: number): number {
  const known = thresholds.get(line);
  if (known?.capacity === capacity) return known.hits;
  const hits = Number((BigInt(capacity) * BigInt(line.at) + WHOLE - 1n) / WHOLE);
  thresholds.set(line, { capacity, hits });
  return hits;
}
