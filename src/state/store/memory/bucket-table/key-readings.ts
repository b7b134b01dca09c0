/** Reads the keys of one group together, since each is needed twice: for its state, and for the new one. */

import type { WordsHash } from './half-sip-hash';
import { NO_PREFIX, type KeyPrefixes } from './key-prefixes';
import { KeyWords } from './key-words';
import { NO_RECORD } from './record-pages';

/** Further keys of a group are read when they are asked for. */
const KEYS_MAX = 32;

export interface KeyReading {
  readonly key: KeyWords;
  bucketKey: string | undefined;
  hash: number;
  prefix: number;
  /** Number of the key's words in its prefix. */
  prefixWords: number;
  /** Its record if it was found, as long as the table has not moved records since. */
  record: number;
  moves: number;
}

export interface KeyReadingsOptions {
  readonly hash: WordsHash;
  readonly prefixes: KeyPrefixes;
}

export class KeyReadings {
  /** The first `count` are the keys of the group. */
  readonly readings: readonly KeyReading[] = Array.from({ length: KEYS_MAX }, newReading);
  count = 0;
  private readonly hash: WordsHash;
  private readonly prefixes: KeyPrefixes;
  /** A key that is not of the group. */
  private readonly other = newReading();
  /** The reading of the last call, and its place in the group. */
  private last = this.other;
  private at = 0;

  constructor({ hash, prefixes }: KeyReadingsOptions) {
    this.hash = hash;
    this.prefixes = prefixes;
  }

  get latest(): KeyReading {
    return this.last;
  }

  /** The next calls are about these keys, in this order. */
  begin(takes: readonly { readonly bucketKey: string }[]): void {
    // A single key is read when it is asked for.
    const count = takes.length === 1 ? 0 : Math.min(takes.length, KEYS_MAX);
    for (let i = 0; i < count; i += 1) {
      const bucketKey = takes[i]?.bucketKey ?? '';
      const reading = this.readings[i];
      // Groups often repeat: the key at this place of the last one.
      if (reading !== undefined && reading.bucketKey !== bucketKey) this.read(reading, bucketKey);
    }
    this.count = count;
    this.at = -1;
  }

  of(bucketKey: string): KeyReading {
    if (this.last.bucketKey === bucketKey) return this.last;
    this.last = this.find(bucketKey) ?? this.readOther(bucketKey);
    return this.last;
  }

  /** The keys come in their order, first when the states are read, then when those that change are written. */
  private find(bucketKey: string): KeyReading | undefined {
    const { readings, count } = this;
    for (let i = 0, at = this.at + 1; i < count; i += 1, at += 1) {
      if (at >= count) at = 0;
      const reading = readings[at];
      if (reading?.bucketKey !== bucketKey) continue;
      this.at = at;
      return reading;
    }
    return undefined;
  }

  private readOther(bucketKey: string): KeyReading {
    this.read(this.other, bucketKey);
    return this.other;
  }

  private read(reading: KeyReading, bucketKey: string): void {
    const { key } = reading;
    key.read(bucketKey);
    reading.bucketKey = bucketKey;
    reading.record = NO_RECORD;
    reading.hash = this.hash(key.words, key.bytes);
    // The keys at one place mostly have one prefix.
    reading.prefix = this.prefixes.numberOf(key.words, key.prefixWords, reading.prefix);
    reading.prefixWords = reading.prefix === NO_PREFIX ? 0 : key.prefixWords;
  }
}

function newReading(): KeyReading {
  return { key: new KeyWords(), bucketKey: undefined, hash: 0, prefix: NO_PREFIX, prefixWords: 0, record: NO_RECORD, moves: 0 };
}
