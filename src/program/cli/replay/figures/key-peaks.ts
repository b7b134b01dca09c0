/** The most hits that each key asked for in one window, in arrays of numbers. */

/** Keys of the table at first; it grows by two. */
const PLACES_MIN = 1_024;
/** Part of the places in use, in sixteenths. */
const FULL_SIXTEENTHS = 11;

/** Most keys. Beyond it, a random half of all keys is left out, again and again. */
const KEYS_MAX = 4_000_000;

export interface KeyPeaksOptions {
  readonly keysMax?: number;
}

/**
 * A key is identified by 64 bits of a hash. Two keys that are confused would only raise one peak, and of a million keys none is, but once in 40 million runs.
 * The keys that stay when there are too many have a hash below a bound, so they are a fair sample of all.
 */
export class KeyPeaks {
  private readonly keysMax: number;
  private lows = new Int32Array(PLACES_MIN);
  private highs = new Int32Array(PLACES_MIN);
  /** The owner of each key plus one; 0: the place is free. */
  private owners = new Int32Array(PLACES_MIN);
  private windows = new Int32Array(PLACES_MIN);
  private counts = new Float64Array(PLACES_MIN);
  private peaks = new Float64Array(PLACES_MIN);
  private size = 0;
  /** Low bits of the high half that must be 0. */
  private sampleMask = 0;

  constructor({ keysMax = KEYS_MAX }: KeyPeaksOptions = {}) {
    this.keysMax = keysMax;
  }

  /** The part of all keys that is counted. */
  get sampled(): number {
    return 1 / (this.sampleMask + 1);
  }

  /**
   * Counts hits of a key of an owner in a window; returns those of the key in the window so far, these included. 0: the key is not counted. Plain parameters,
   * because an object for each hit would cost too much.
   */
  count(owner: number, key: string, window: number, hits: number): number {
    let low = owner ^ 0x2c1b3c6d;
    let high = 0x74656462 ^ key.length;
    for (let i = 0; i < key.length; i += 1) {
      const code = key.charCodeAt(i);
      low = Math.imul(low ^ code, 0x01000193);
      high = Math.imul(high ^ code, 0x5bd1e995) ^ (high >>> 13);
    }
    low = Math.imul(low ^ (low >>> 16) ^ high, 0x2c1b3c6d);
    low ^= low >>> 15;
    high = Math.imul(high ^ (high >>> 15) ^ owner, 0x297a2d39);
    high ^= high >>> 13;
    return (high & this.sampleMask) === 0 ? this.add({ low, high, owner: owner + 1, window, hits }) : 0;
  }

  /** The peaks of the keys of each owner, in ascending order. */
  peaksOf(owners: number): Float64Array[] {
    const sizes = new Array<number>(owners).fill(0);
    for (const owner of this.owners) if (owner > 0) sizes[owner - 1] = (sizes[owner - 1] ?? 0) + 1;
    const peaks = sizes.map((size) => new Float64Array(size));
    const next = new Array<number>(owners).fill(0);
    for (let place = 0; place < this.owners.length; place += 1) {
      const owner = (this.owners[place] ?? 0) - 1;
      const own = peaks[owner];
      if (own === undefined) continue;
      const at = next[owner] ?? 0;
      own[at] = this.peaks[place] ?? 0;
      next[owner] = at + 1;
    }
    for (const each of peaks) each.sort();
    return peaks;
  }

  private add({ low, high, owner, window, hits }: AddInput): number {
    const place = this.placeOf(low, high, owner);
    if (this.owners[place] === 0) {
      this.lows[place] = low;
      this.highs[place] = high;
      this.owners[place] = owner;
      this.windows[place] = window;
      this.counts[place] = hits;
      this.peaks[place] = hits;
      this.size += 1;
      if (this.size * 16 > this.owners.length * FULL_SIXTEENTHS) this.makeRoom();
      return hits;
    }
    const count = this.windows[place] === window ? (this.counts[place] ?? 0) + hits : hits;
    this.windows[place] = window;
    this.counts[place] = count;
    if (count > (this.peaks[place] ?? 0)) this.peaks[place] = count;
    return count;
  }

  private placeOf(low: number, high: number, owner: number): number {
    const { lows, highs, owners } = this;
    const mask = owners.length - 1;
    let place = low & mask;
    while (owners[place] !== 0 && !(lows[place] === low && highs[place] === high && owners[place] === owner)) place = (place + 1) & mask;
    return place;
  }

  private makeRoom(): void {
    if (this.size >= this.keysMax) this.sampleMask = 2 * this.sampleMask + 1;
    const places = this.owners.length * (this.size >= this.keysMax ? 1 : 2);
    const { lows, highs, owners, windows, counts, peaks } = this;
    this.lows = new Int32Array(places);
    this.highs = new Int32Array(places);
    this.owners = new Int32Array(places);
    this.windows = new Int32Array(places);
    this.counts = new Float64Array(places);
    this.peaks = new Float64Array(places);
    this.size = 0;
    for (let from = 0; from < owners.length; from += 1) {
      const owner = owners[from] ?? 0;
      if (owner === 0 || ((highs[from] ?? 0) & this.sampleMask) !== 0) continue;
      const place = this.placeOf(lows[from] ?? 0, highs[from] ?? 0, owner);
      this.lows[place] = lows[from] ?? 0;
      this.highs[place] = highs[from] ?? 0;
      this.owners[place] = owner;
      this.windows[place] = windows[from] ?? 0;
      this.counts[place] = counts[from] ?? 0;
      this.peaks[place] = peaks[from] ?? 0;
      this.size += 1;
    }
  }
}

interface AddInput {
  readonly low: number;
  readonly high: number;
  readonly owner: number;
  readonly window: number;
  readonly hits: number;
}
