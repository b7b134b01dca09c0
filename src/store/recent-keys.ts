/** Numbers for the keys that were used last, so that what is known of a key can lie in arrays of numbers. */

import { halfSipHash, randomSeed, type WordsHash } from './bucket-table/half-sip-hash';
import { KeyWords } from './bucket-table/key-words';

export interface RecentKeysOptions {
  /** Most keys that have a number; beyond it the one not used longest loses its own to the next. */
  readonly keysMax: number;
  /** Two halves of a hash. For tests; otherwise with seeds that nobody knows. */
  readonly hashes?: readonly [WordsHash, WordsHash];
}

/** What a key has that has no number; the others count from 1. */
export const NO_NUMBER = 0;

/** Words of a key: the halves of its hash, the next key of its chain, and its neighbours in the order of use. */
const LOW = 0;
const HIGH = 1;
const NEXT = 2;
const OLDER = 3;
const NEWER = 4;
const WORDS = 5;

/**
 * All its memory is asked for at once, 24 to 28 bytes a key, and nothing in it is for the garbage collector: where every call
 * brings another key, keys and entries of a Map all live long enough to be moved about, and then die.
 *
 * A key is known by 64 bits of keyed hash alone, so it may be taken for another: this is only for what may be forgotten as well.
 * Beside 50,000 others that happens to one new key of 300 million million, and who does not know the seeds can't make it happen.
 */
export class RecentKeys {
  private readonly keysMax: number;
  private readonly lowHash: WordsHash;
  private readonly highHash: WordsHash;
  private readonly words: Int32Array;
  /** By the low half of the hash: the first key of a chain. */
  private readonly chains: Int32Array;
  /** The key that was asked for last: mostly it is used next. */
  private readonly key = new KeyWords();
  private keyRead: string | undefined;
  private low = 0;
  private high = 0;

  private newest = NO_NUMBER;
  private oldest = NO_NUMBER;
  /** Numbers that have been given, and of these the ones that are free again, as a chain. */
  private given = 0;
  private free = NO_NUMBER;

  constructor({ keysMax, hashes = [halfSipHash(randomSeed()), halfSipHash(randomSeed())] }: RecentKeysOptions) {
    this.keysMax = keysMax;
    [this.lowHash, this.highHash] = hashes;
    this.words = new Int32Array((1 + keysMax) * WORDS);
    this.chains = new Int32Array(2 ** Math.ceil(Math.log2(keysMax)));
  }

  /** The number of a key. Only looks: that is no use. */
  find(key: string): number {
    if (key !== this.keyRead) this.read(key);
    let number = this.chains[this.chainOf(this.low)] ?? NO_NUMBER;
    while (number !== NO_NUMBER && (this.get(number, LOW) !== this.low || this.get(number, HIGH) !== this.high)) number = this.get(number, NEXT);
    return number;
  }

  /** The number of a key, which is then the one used last. A new one has the number of a key that is gone, if there is one. */
  use(key: string): number {
    const known = this.find(key);
    if (known === NO_NUMBER) return this.add();
    if (known !== this.newest) {
      this.unlink(known);
      this.append(known);
    }
    return known;
  }

  delete(key: string): void {
    const number = this.find(key);
    if (number === NO_NUMBER) return;
    this.remove(number);
    this.set(number, NEXT, this.free);
    this.free = number;
  }

  private read(key: string): void {
    this.key.read(key);
    this.keyRead = key;
    this.low = this.lowHash(this.key.words, this.key.bytes);
    this.high = this.highHash(this.key.words, this.key.bytes);
  }

  /** A number for the key that was read. */
  private add(): number {
    const number = this.nextNumber();
    const chain = this.chainOf(this.low);
    this.set(number, LOW, this.low);
    this.set(number, HIGH, this.high);
    this.set(number, NEXT, this.chains[chain] ?? NO_NUMBER);
    this.chains[chain] = number;
    this.append(number);
    return number;
  }

  private nextNumber(): number {
    const { free, oldest } = this;
    if (free !== NO_NUMBER) {
      this.free = this.get(free, NEXT);
      return free;
    }
    if (this.given < this.keysMax) {
      this.given += 1;
      return this.given;
    }
    this.remove(oldest);
    return oldest;
  }

  private remove(number: number): void {
    this.unlink(number);
    const chain = this.chainOf(this.get(number, LOW));
    const next = this.get(number, NEXT);
    let at = this.chains[chain] ?? NO_NUMBER;
    if (at === number) {
      this.chains[chain] = next;
      return;
    }
    while (this.get(at, NEXT) !== number) at = this.get(at, NEXT);
    this.set(at, NEXT, next);
  }

  private append(number: number): void {
    this.set(number, NEWER, NO_NUMBER);
    this.set(number, OLDER, this.newest);
    if (this.newest === NO_NUMBER) this.oldest = number;
    else this.set(this.newest, NEWER, number);
    this.newest = number;
  }

  private unlink(number: number): void {
    const older = this.get(number, OLDER);
    const newer = this.get(number, NEWER);
    if (older === NO_NUMBER) this.oldest = newer;
    else this.set(older, NEWER, newer);
    if (newer === NO_NUMBER) this.newest = older;
    else this.set(newer, OLDER, older);
  }

  /** There are as many chains as a power of two. */
  private chainOf(low: number): number {
    return low & (this.chains.length - 1);
  }

  private get(number: number, word: number): number {
    return this.words[number * WORDS + word] ?? 0;
  }

  private set(number: number, word: number, value: number): void {
    this.words[number * WORDS + word] = value;
  }
}
