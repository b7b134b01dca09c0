/** Beginnings that many keys have in common, each kept once and known by a number. */

import type { WordsHash } from './half-sip-hash';

/** The most that are kept; their numbers have 12 bits. Keys that begin otherwise are then kept whole. */
export const PREFIXES_MAX = 4095;

/** The number of an empty prefix. */
export const NO_PREFIX = 0;

/**
 * A prefix that is known stays known: so a key is kept in one way for as long as it is kept, whichever comes later. They
 * are few, since all of them but what a `hash_tag` and overrides add is configuration.
 */
export class KeyPrefixes {
  private readonly prefixes: Int32Array[] = [new Int32Array(0)];
  private readonly byHash = new Map<number, number[]>();
  private latest = NO_PREFIX;

  constructor(private readonly hash: WordsHash) {}

  /** The number of the first `count` of these words, learnt if it is new; `NO_PREFIX` if there is no place for it. */
  numberOf(words: Int32Array, count: number): number {
    if (count === 0) return NO_PREFIX;
    // Mostly it is the one that was asked for before.
    return this.isPrefix(this.latest, words, count) ? this.latest : this.findOrLearn(words, count);
  }

  wordsOf(number: number): Int32Array {
    const words = this.prefixes[number];
    if (words === undefined) throw new Error(`no prefix has the number ${number}`);
    return words;
  }

  /** By itself, since a function that makes a closure makes room for what that needs at every call. */
  private findOrLearn(words: Int32Array, count: number): number {
    const hash = this.hash(words, count * 4);
    const alike = this.byHash.get(hash);
    const known = alike?.find((number) => this.isPrefix(number, words, count));
    if (known === undefined && this.prefixes.length > PREFIXES_MAX) return NO_PREFIX;
    this.latest = known ?? this.prefixes.push(words.slice(0, count)) - 1;
    if (known !== undefined) return known;
    if (alike === undefined) this.byHash.set(hash, [this.latest]);
    else alike.push(this.latest);
    return this.latest;
  }

  private isPrefix(number: number, words: Int32Array, count: number): boolean {
    const prefix = this.wordsOf(number);
    if (prefix.length !== count) return false;
    for (let i = 0; i < count; i += 1) if (prefix[i] !== words[i]) return false;
    return true;
  }
}
