/** Buckets by their keys, in few bytes each: states, when they may be dropped, and which was not used longest. */

import type { BucketState } from '../../engine/engines';
import { AsideStates } from './aside-states';
import { BucketIndex, idOf, NO_LINK } from './bucket-index';
import { halfSipHash, randomSeed, type WordsHash } from './half-sip-hash';
import { KeyPrefixes, NO_PREFIX } from './key-prefixes';
import { KEY_BYTES_MAX, KeyWords } from './key-words';
import { asideOf, EXPIRES, isDigest, KEY, keyBytes, markKey, prefixOf, readState, writeAside, writeState } from './record';
import { NO_RECORD, RecordPages } from './record-pages';
import { UseOrder } from './use-order';

export interface BucketTableOptions {
  /** Bucket times are kept from then on, in whole seconds. */
  readonly sinceUs: number;
  /** For tests; otherwise one with a seed that nobody knows. */
  readonly hash?: WordsHash;
}

const SECOND_US = 1_000_000;

/** Over 136 years after the table began: such a bucket is not dropped for its age. */
const NEVER_EXPIRES = 2 ** 32 - 1;

/**
 * A bucket is a record of 36 bytes and the words of its key after the prefix. Other than in a Map there is nothing for the
 * garbage collector to walk, and nothing that grows at once: memory comes and goes by pages.
 */
export class BucketTable {
  private readonly records = new RecordPages();
  private readonly order = new UseOrder(this.records);
  private readonly asides = new AsideStates();
  private readonly index: BucketIndex;
  private readonly prefixes: KeyPrefixes;
  private readonly hash: WordsHash;
  private readonly sinceUs: number;

  /** The key that was asked for last: mostly it is written next. */
  private readonly key = new KeyWords();
  private keyRead: string | undefined;
  private keyHash = 0;
  private keyPrefix = NO_PREFIX;
  /** Its record, once that is found: what was used is mostly written next, and is not looked for again. */
  private keyRecord = NO_RECORD;

  /** Where the key of a record is put together for its hash. */
  private readonly joined = new Int32Array(KEY_BYTES_MAX / 4);

  private bucketCount = 0;

  constructor({ sinceUs, hash = halfSipHash(randomSeed()) }: BucketTableOptions) {
    this.sinceUs = sinceUs;
    this.hash = hash;
    this.prefixes = new KeyPrefixes(hash);
    this.index = new BucketIndex(this.records, (id) => this.hashOf(id));
  }

  get size(): number {
    return this.bucketCount;
  }

  /** Bytes of the table's pages; logs come on top. */
  get bytes(): number {
    return this.records.bytes + this.index.bytes;
  }

  /** States that are in no record, since they have no fixed size: logs. */
  get aside(): number {
    return this.asides.size;
  }

  /** Buckets that were looked at because the index grew or shrank, since the start. */
  get moved(): number {
    return this.index.moved;
  }

  /** The state of a bucket, which is then the one used last. */
  use(bucketKey: string): BucketState | undefined {
    const id = this.find(bucketKey);
    if (id === NO_RECORD) return undefined;
    this.order.use(id);
    return this.stateOf(id);
  }

  /** Keeps a state; the bucket is then the one used last. Without `expiresAtUs` it is kept as long as it was to be. */
  set(bucketKey: string, state: BucketState, expiresAtUs?: number): void {
    let id = this.find(bucketKey);
    if (id === NO_RECORD) {
      id = this.add();
      this.setExpiry(id, expiresAtUs ?? 0);
    } else {
      this.order.use(id);
      if (expiresAtUs !== undefined) this.setExpiry(id, expiresAtUs);
    }
    this.setState(id, state);
  }

  delete(bucketKey: string): void {
    const id = this.find(bucketKey);
    if (id !== NO_RECORD) this.remove(id);
  }

  /** Drops the bucket that was not used longest. */
  deleteOldest(): void {
    if (this.order.oldest !== NO_RECORD) this.remove(this.order.oldest);
  }

  /** Looks at the next few buckets, round and round, and drops those whose time is up. */
  dropExpired({ nowUs, steps }: { readonly nowUs: number; readonly steps: number }): void {
    const now = Math.floor((nowUs - this.sinceUs) / SECOND_US);
    for (let step = 0; step < steps; step += 1) {
      const id = this.records.next();
      if (id === NO_RECORD) return;
      const expires = this.records.get(id, EXPIRES) >>> 0;
      if (expires <= now && expires < NEVER_EXPIRES) this.remove(id);
    }
  }

  private find(bucketKey: string): number {
    if (bucketKey !== this.keyRead) this.readKey(bucketKey);
    else if (this.keyRecord !== NO_RECORD) return this.keyRecord;
    let link = this.index.first(this.keyHash);
    while (link !== NO_LINK && !this.isOfKey(idOf(link))) link = this.index.next(link, this.keyHash);
    this.keyRecord = link === NO_LINK ? NO_RECORD : idOf(link);
    return this.keyRecord;
  }

  private readKey(bucketKey: string): void {
    const { key } = this;
    key.read(bucketKey);
    this.keyRead = bucketKey;
    this.keyRecord = NO_RECORD;
    this.keyHash = this.hash(key.words, key.bytes);
    this.keyPrefix = this.prefixes.numberOf(key.words, key.prefixWords);
  }

  /** Words of the key that its prefix holds. */
  private prefixWords(): number {
    return this.keyPrefix === NO_PREFIX ? 0 : this.key.prefixWords;
  }

  private isOfKey(id: number): boolean {
    const { key, keyPrefix } = this;
    const words = this.records.wordsOf(id);
    const record = this.records.offsetOf(id);
    const skipped = this.prefixWords();
    const bytes = key.bytes - skipped * 4;
    if (prefixOf(words, record) !== keyPrefix || keyBytes(words, record) !== bytes || isDigest(words, record) !== key.isDigest) return false;
    const count = (bytes + 3) >>> 2;
    for (let i = 0; i < count; i += 1) if (words[record + KEY + i] !== key.words[skipped + i]) return false;
    return true;
  }

  /** A record for the key that was read. */
  private add(): number {
    const { key } = this;
    const skipped = this.prefixWords();
    const bytes = key.bytes - skipped * 4;
    const count = (bytes + 3) >>> 2;
    const id = this.records.add(KEY + count);
    const words = this.records.wordsOf(id);
    const record = this.records.offsetOf(id);
    markKey(words, record, { bytes, isDigest: key.isDigest, prefix: this.keyPrefix });
    for (let i = 0; i < count; i += 1) words[record + KEY + i] = key.words[skipped + i] ?? 0;
    this.index.add(id, this.keyHash);
    this.order.add(id);
    this.bucketCount += 1;
    this.keyRecord = id;
    return id;
  }

  private remove(id: number): void {
    this.dropAside(id);
    this.index.remove(id);
    this.order.remove(id);
    const last = this.records.lastLike(id);
    if (last !== NO_RECORD) {
      this.index.move(last, id);
      this.order.move(last, id);
    }
    this.records.release(id);
    // The record that was looked at last may be the one that is gone, or that has moved.
    this.keyRecord = NO_RECORD;
    this.bucketCount -= 1;
  }

  private hashOf(id: number): number {
    const { joined } = this;
    const words = this.records.wordsOf(id);
    const record = this.records.offsetOf(id);
    const bytes = keyBytes(words, record);
    const prefix = this.prefixes.wordsOf(prefixOf(words, record));
    for (let i = 0; i < prefix.length; i += 1) joined[i] = prefix[i] ?? 0;
    const count = (bytes + 3) >>> 2;
    for (let i = 0; i < count; i += 1) joined[prefix.length + i] = words[record + KEY + i] ?? 0;
    return this.hash(joined, prefix.length * 4 + bytes);
  }

  private stateOf(id: number): BucketState | undefined {
    const words = this.records.wordsOf(id);
    const record = this.records.offsetOf(id);
    return readState(words, record) ?? this.asides.get(asideOf(words, record));
  }

  private setState(id: number, state: BucketState): void {
    const words = this.records.wordsOf(id);
    const record = this.records.offsetOf(id);
    const aside = asideOf(words, record);
    if (writeState(words, record, state)) this.asides.drop(aside);
    else writeAside(words, record, this.asides.keep(state, aside));
  }

  private dropAside(id: number): void {
    this.asides.drop(asideOf(this.records.wordsOf(id), this.records.offsetOf(id)));
  }

  private setExpiry(id: number, expiresAtUs: number): void {
    const seconds = Math.ceil((expiresAtUs - this.sinceUs) / SECOND_US);
    this.records.set(id, EXPIRES, Math.min(Math.max(0, seconds), NEVER_EXPIRES));
  }
}
