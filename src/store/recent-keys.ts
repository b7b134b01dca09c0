/** Places for the keys that were used last, so that what is known of a key can lie in arrays of numbers. */

import { halfSipHash, randomSeed, type WordsHash } from './bucket-table/half-sip-hash';
import { KeyWords } from './bucket-table/key-words';

export interface RecentKeysOptions {
  /** Most keys that have a place: up to 8, or 8 times a power of two; another number is taken for the next of these. */
  readonly keysMax: number;
  /** Two halves of a hash. For tests; otherwise with seeds that nobody knows. */
  readonly hashes?: readonly [WordsHash, WordsHash];
}

/** What a key has that has no place; the others count from 0. */
export const NO_PLACE = -1;

/** Keys of a set: a key belongs to one set, by its hash, and has one of its places. */
const SET_KEYS = 8;

/**
 * All its memory is asked for at once, 12 bytes a key, and nothing in it is for the garbage collector: where every call
 * brings another key, keys and entries of a Map all live long enough to be moved about, and then die.
 *
 * A key that is used takes the place of that one of its set which was not used longest. An order of all keys would say that of all, and cost
 * every use three more lookups in memory that no cache holds.
 *
 * A key is known by 64 bits of keyed hash alone, so it may be taken for another: this is only for what may be forgotten as well.
 * That happens to one new key of 2,000 million million, and who does not know the seeds can't make it happen.
 */
export class RecentKeys {
  /** As many places as there are. */
  readonly places: number;
  private readonly lowHash: WordsHash;
  private readonly highHash: WordsHash;
  private readonly setKeys: number;
  private readonly setMask: number;
  /** Of a set, one after another: the low halves of its keys' hashes, the high halves, and when each was used. */
  private readonly words: Int32Array;
  /** Counts uses, round and round; 0: never. */
  private now = 0;
  /** The key that was asked for last: mostly it is used next. */
  private readonly key = new KeyWords();
  private keyRead: string | undefined;
  private low = 0;
  private high = 0;

  constructor({ keysMax, hashes = [halfSipHash(randomSeed()), halfSipHash(randomSeed())] }: RecentKeysOptions) {
    [this.lowHash, this.highHash] = hashes;
    this.setKeys = Math.min(keysMax, SET_KEYS);
    const sets = 2 ** Math.ceil(Math.log2(keysMax / this.setKeys));
    this.setMask = sets - 1;
    this.places = sets * this.setKeys;
    this.words = new Int32Array(3 * this.places);
  }

  /** The place of a key. Only looks: that is no use. */
  find(key: string): number {
    if (key !== this.keyRead) this.read(key);
    const { setKeys, words, low, high } = this;
    const set = low & this.setMask;
    const lows = set * 3 * setKeys;
    for (let i = 0; i < setKeys; i += 1) {
      if (words[lows + i] === low && words[lows + setKeys + i] === high && words[lows + 2 * setKeys + i] !== 0) return set * setKeys + i;
    }
    return NO_PLACE;
  }

  /** The place of a key, which is then the one used last. */
  use(key: string): number {
    const known = this.find(key);
    const place = known === NO_PLACE ? this.leastUsed() : known;
    // 0 is for those that never were.
    this.now = (this.now + 1) | 0 || 1;
    const at = this.wordsOf(place);
    this.words[at] = this.low;
    this.words[at + this.setKeys] = this.high;
    this.words[at + 2 * this.setKeys] = this.now;
    return place;
  }

  delete(key: string): void {
    const place = this.find(key);
    if (place !== NO_PLACE) this.words[this.wordsOf(place) + 2 * this.setKeys] = 0;
  }

  private read(key: string): void {
    this.key.read(key);
    this.keyRead = key;
    this.low = this.lowHash(this.key.words, this.key.bytes);
    this.high = this.highHash(this.key.words, this.key.bytes);
  }

  /** Of the set of the key that was read: a place that is free, or the one not used longest. */
  private leastUsed(): number {
    const { setKeys, words } = this;
    const set = this.low & this.setMask;
    const uses = set * 3 * setKeys + 2 * setKeys;
    let found = 0;
    let foundAge = -1;
    for (let i = 0; i < setKeys; i += 1) {
      const used = words[uses + i] ?? 0;
      if (used === 0) return set * setKeys + i;
      // Unsigned, so that it is right when the count has begun anew.
      const age = (this.now - used) >>> 0;
      if (age <= foundAge) continue;
      found = i;
      foundAge = age;
    }
    return set * setKeys + found;
  }

  /** Where the first word of a place is. */
  private wordsOf(place: number): number {
    const set = Math.floor(place / this.setKeys);
    return set * 3 * this.setKeys + (place - set * this.setKeys);
  }
}
