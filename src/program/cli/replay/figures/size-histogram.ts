/** How often each size came: exact up to 1,024, above it in steps of less than 1 %. */

const EXACT = 1_024;
/** Steps of each power of two above the exact sizes. */
const STEPS = 128;
/** From 2^10 to 2^53. */
const POWERS = 44;
const PLACES_MAX = EXACT + STEPS * POWERS;

/** There is a histogram for each limit, and most limits only see small sizes. */
const PLACES_MIN = 32;

export class SizeHistogram {
  private counts = new Float64Array(PLACES_MIN);
  private total = 0;

  add(size: number): void {
    const at = indexOf(size);
    if (at >= this.counts.length) this.grow(at);
    this.counts[at] = (this.counts[at] ?? 0) + 1;
    this.total += 1;
  }

  private grow(at: number): void {
    const { counts } = this;
    this.counts = new Float64Array(Math.min(PLACES_MAX, Math.max(2 * counts.length, at + 1)));
    this.counts.set(counts);
  }

  /** The smallest size so that at most this part of all is larger. */
  sizeForShare(share: number): number {
    let larger = 0;
    for (let at = this.counts.length - 1; at > 0; at -= 1) {
      larger += this.counts[at] ?? 0;
      if (larger > share * this.total) return largestAt(at);
    }
    return 0;
  }
}

function indexOf(size: number): number {
  if (size < EXACT) return Math.max(0, size);
  const power = Math.floor(Math.log2(size));
  const step = Math.floor((size / 2 ** power - 1) * STEPS);
  return Math.min(EXACT + (power - 10) * STEPS + step, PLACES_MAX - 1);
}

/** The largest size that is counted at a place. */
function largestAt(at: number): number {
  if (at < EXACT) return at;
  const power = 10 + Math.floor((at - EXACT) / STEPS);
  const step = (at - EXACT) % STEPS;
  return Math.ceil(2 ** power * (1 + (step + 1) / STEPS)) - 1;
}
