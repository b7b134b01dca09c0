/** Stores common prefixes of keys once, each under a number. */

import type { WordsHash } from './half-sip-hash';

/** Most prefixes; their numbers have 12 bits. Keys with other prefixes are stored whole. */
export const PREFIXES_MAX = 4095;

/** The number of an empty prefix. */
export const NO_PREFIX = 0;

/**
 * A known prefix is never dropped, so that a stored key keeps its form. Prefixes
 * are few, because they come from the configuration, except the parts from `hash_tag` and overrides.
 */
export class KeyPrefixes {
  private readonly prefixes: Int32Array[] = [new Int32Array(0)];
  private readonly byHash = new Map<number, number[]>();

  constructor(private readonly hash: WordsHash) {}

  /** The number of the prefix of `count` words, added if it is new; `NO_PREFIX` if the table is full. `likely` is looked at first. */
  numberOf(words: Int32Array, count: number, likely: number): number {
    if (count === 0) return NO_PREFIX;
    return this.isPrefix(likely, words, count) ? likely : this.findOrLearn(words, count);
  }

  wordsOf(number: number): Int32Array {
    const words = this.prefixes[number];
    if (words === undefined) throw new Error(`no prefix has the number ${number}`);
    return words;
  }

  /** A separate function, because a function with a closure allocates its context on every call. */
  private findOrLearn(words: Int32Array, count: number): number {
    const hash = this.hash(words, count * 4);
    const alike = this.byHash.get(hash);
    const known = alike?.find((number) => this.isPrefix(number, words, count));
    if (known === undefined && this.prefixes.length > PREFIXES_MAX) return NO_PREFIX;
    if (known !== undefined) return known;
    const added = this.prefixes.push(words.slice(0, count)) - 1;
    if (alike === undefined) this.byHash.set(hash, [added]);
    else alike.push(added);
    return added;
  }

  private isPrefix(number: number, words: Int32Array, count: number): boolean {
    const prefix = this.wordsOf(number);
    if (prefix.length !== count) return false;
    for (let i = 0; i < count; i += 1) if (prefix[i] !== words[i]) return false;
    return true;
  }
}
