/** Places for the most recently used keys, so that data about keys can be stored in arrays of numbers. */

import { RANKS, rankToForget } from '../../../domain/bucket/forget-rank';
import { halfSipHash, randomSeed, type WordsHash } from './bucket-table/half-sip-hash';
import { KeyWords } from './bucket-table/key-words';

export interface KeySlotsOptions {
  /** Most keys: up to 8, or 8 times a power of two; other numbers are rounded up to one of these. */
  readonly keysMax: number;
  /** Two halves of a hash. For tests; otherwise with random seeds. */
  readonly hashes?: readonly [WordsHash, WordsHash];
}

/** The place of a key without one; real places count from 0. */
export const NO_PLACE = -1;

/** Keys of a set: the hash of a key selects the set, in which it has one of the places. */
const SET_KEYS = 8;

/** Words of a key, in separate rows of its set: low and high half of the hash, time of last use, worth. */
const ROWS = 4;
const LOW = 0;
const HIGH = 1;
const USED = 2;
const WORTH = 3;

/** The worth of a key: its rank in the lowest bits, and its expiry above them. */
const RANK_BITS = 3;
const UNTIL_MAX = 2 ** (31 - RANK_BITS) - 1;

/**
 * Allocates all memory at once, 16 bytes for each key, without work for the garbage collector. If every call
 * has a new key, the keys and entries of a Map would survive long enough to be copied, and then die.
 *
 * A new key replaces one of its set: an expired one, or else the first in the order of eviction
 * (`src/domain/bucket/forget-rank.ts`). An order of all keys would be exact, but would cost every use three more uncached memory accesses.
 *
 * A key is identified by 64 bits of keyed hash alone, so two keys may be confused: use this only for data that may be lost.
 * A new key is confused with another one in one of 2,000 million million cases, and nobody without the seeds can provoke it.
 */
export class KeySlots {
  /** The number of places. */
  readonly places: number;
  private readonly lowHash: WordsHash;
  private readonly highHash: WordsHash;
  private readonly setKeys: number;
  private readonly setMask: number;
  /** The rows of each set, one set after another. */
  private readonly words: Int32Array;
  /** For one set, by rank: the number of its keys, and the place of the least recently used one. */
  private readonly sizes: number[] = new Array<number>(RANKS).fill(0);
  private readonly oldest: number[] = new Array<number>(RANKS).fill(NO_PLACE);
  /** A wrapping counter of uses; 0 means never. */
  private now = 0;
  /** The key of the last call, which is usually the key of the next one. */
  private readonly key = new KeyWords();
  private keyRead: string | undefined;
  private low = 0;
  private high = 0;

  constructor({ keysMax, hashes = [halfSipHash(randomSeed()), halfSipHash(randomSeed())] }: KeySlotsOptions) {
    [this.lowHash, this.highHash] = hashes;
    this.setKeys = Math.min(keysMax, SET_KEYS);
    const sets = 2 ** Math.ceil(Math.log2(keysMax / this.setKeys));
    this.setMask = sets - 1;
    this.places = sets * this.setKeys;
    this.words = new Int32Array(ROWS * this.places);
  }

  /** The place of a key, without counting as a use. */
  find(key: string): number {
    if (key !== this.keyRead) this.read(key);
    const { setKeys, words, low, high } = this;
    const set = low & this.setMask;
    const lows = this.row(set, LOW);
    for (let i = 0; i < setKeys; i += 1) {
      if (words[lows + i] === low && words[lows + HIGH * setKeys + i] === high && words[lows + USED * setKeys + i] !== 0)
        return set * setKeys + i;
    }
    return NO_PLACE;
  }

  /**
   * The place of a key, which becomes the most recently used one; `NO_PLACE` if the others of its set are worth more. The key has its rank until `until`,
   * in the unit of `now`, integers from 0, and is worth nothing after that.
   */
  use(key: string, { rank, until, now }: KeyUse): number {
    const known = this.find(key);
    const place = known === NO_PLACE ? this.makeRoom(rank, now) : known;
    if (place === NO_PLACE) return NO_PLACE;
    // 0 is reserved for unused places.
    this.now = (this.now + 1) | 0 || 1;
    const at = this.wordsOf(place);
    this.words[at] = this.low;
    this.words[at + HIGH * this.setKeys] = this.high;
    this.words[at + USED * this.setKeys] = this.now;
    this.words[at + WORTH * this.setKeys] = (Math.min(until, UNTIL_MAX) << RANK_BITS) | rank;
    return place;
  }

  delete(key: string): void {
    const place = this.find(key);
    if (place !== NO_PLACE) this.words[this.wordsOf(place) + USED * this.setKeys] = 0;
  }

  private read(key: string): void {
    this.key.read(key);
    this.keyRead = key;
    this.low = this.lowHash(this.key.words, this.key.bytes);
    this.high = this.highHash(this.key.words, this.key.bytes);
  }

  /** A place in the set of the current key, for this rank. */
  private makeRoom(rank: number, now: number): number {
    const { setKeys, words, sizes, oldest } = this;
    const set = this.low & this.setMask;
    const uses = this.row(set, USED);
    const worths = this.row(set, WORTH);
    sizes.fill(0);
    // The new key counts for its rank, as the most recently used one.
    sizes[rank] = 1;
    oldest[rank] = NO_PLACE;
    for (let i = 0; i < setKeys; i += 1) {
      const worth = words[worths + i] ?? 0;
      if (words[uses + i] === 0 || worth >>> RANK_BITS <= now) return set * setKeys + i;
      const of = worth & ((1 << RANK_BITS) - 1);
      const eldest = sizes[of] === 0 ? NO_PLACE : (oldest[of] ?? NO_PLACE);
      if (eldest === NO_PLACE || this.ageOf(uses + i) > this.ageOf(uses + eldest)) oldest[of] = i;
      sizes[of] = (sizes[of] ?? 0) + 1;
    }
    const victim = oldest[rankToForget(sizes, setKeys)] ?? NO_PLACE;
    return victim === NO_PLACE ? NO_PLACE : set * setKeys + victim;
  }

  /** Unsigned, so that it is correct after the counter has wrapped. */
  private ageOf(use: number): number {
    return (this.now - (this.words[use] ?? 0)) >>> 0;
  }

  /** Index of the first word of a place. */
  private wordsOf(place: number): number {
    const set = Math.floor(place / this.setKeys);
    return this.row(set, LOW) + (place - set * this.setKeys);
  }

  private row(set: number, row: number): number {
    return (set * ROWS + row) * this.setKeys;
  }
}

export interface KeyUse {
  /** Its worth, from `forgetRank`. */
  readonly rank: number;
  readonly until: number;
  readonly now: number;
}
