/** Compact storage of buckets by key: their states, expiry times and order of eviction. */

import { RANKS, rankToForget, SLIGHTLY_USED } from '../../../../domain/bucket/forget-rank';
import type { BucketState } from '../../../../domain/algorithm/algorithms';
import { OverflowStates } from './overflow-states';
import { BucketIndex, idOf, NO_LINK } from './bucket-index';
import { halfSipHash, randomSeed, type WordsHash } from './half-sip-hash';
import { KeyPrefixes } from './key-prefixes';
import { KeyReadings, type KeyReading } from './key-readings';
import { KEY_BYTES_MAX } from './key-words';
import { overflowOf, EXPIRES, isDigest, KEY, keyBytes, markKey, prefixOf, readState, writeOverflow, writeState } from './record';
import { NO_RECORD, RecordPages, type WalkPlace } from './record-pages';
import { UseOrder } from './use-order';
import { US_PER_S } from '../../../../lib/time-units';

export interface BucketTableOptions {
  /** Origin of times, which are kept in whole seconds. */
  readonly sinceUs: number;
  /** For tests; otherwise a hash with a random seed. */
  readonly hash?: WordsHash;
}

interface WalkKeysInput {
  readonly place: WalkPlace;
  readonly steps: number;
  readonly visit: (bucketKey: string) => boolean;
}

/** Over 136 years after the start of the table: the bucket does not expire. */
const NEVER_EXPIRES = 2 ** 32 - 1;

/**
 * A bucket is a record of 36 bytes plus the words of its key after the prefix. Unlike a Map, it gives the
 * garbage collector nothing to traverse, and memory grows and shrinks by pages.
 */
export class BucketTable {
  private readonly records = new RecordPages();
  private readonly order = new UseOrder(this.records, RANKS);
  private readonly overflow = new OverflowStates();
  private readonly index: BucketIndex;
  private readonly prefixes: KeyPrefixes;
  private readonly hash: WordsHash;
  private readonly sinceUs: number;

  private readonly readings: KeyReadings;
  /** The first record in the chain of each key of the group. */
  private readonly likely: number[] = [];
  /** The words that were read ahead: the compiler would leave out loads that nobody keeps. */
  private readonly touched = new Int32Array(1);
  /** Changes whenever records get other ids, so that records found before count no longer. */
  private moves = 0;

  /** Buffer in which the key of a record is joined for its hash. */
  private readonly joined = new Int32Array(KEY_BYTES_MAX / 4);

  private bucketCount = 0;

  constructor({ sinceUs, hash = halfSipHash(randomSeed()) }: BucketTableOptions) {
    this.sinceUs = sinceUs;
    this.hash = hash;
    this.prefixes = new KeyPrefixes(hash);
    this.readings = new KeyReadings({ hash, prefixes: this.prefixes });
    this.index = new BucketIndex(this.records, (id) => this.hashOf(id));
  }

  get size(): number {
    return this.bucketCount;
  }

  /** Bytes of the table's pages, without overflow states. */
  get bytes(): number {
    return this.records.bytes + this.index.bytes;
  }

  /** Number of states outside of records, because they have no fixed size (logs). */
  get overflowCount(): number {
    return this.overflow.size;
  }

  /** Buckets relinked by growing or shrinking of the index since the start. */
  get moved(): number {
    return this.index.moved;
  }

  /**
   * The next calls are about these keys, in this order. Their words of the index and the records are read at once here: the processor then waits for
   * many places of a large table at a time, not for one after the other. Without it, calls only cost more.
   */
  beginGroup(takes: readonly { readonly bucketKey: string }[]): void {
    this.readings.begin(takes);
    if (this.readings.count > 1) this.touchRecords();
  }

  private touchRecords(): void {
    const { records, index, order, likely } = this;
    const { readings, count } = this.readings;
    for (let i = 0; i < count; i += 1) likely[i] = index.headOf(readings[i]?.hash ?? 0);
    likely.length = count;
    let touched = 0;
    for (const id of likely) if (id !== NO_RECORD) touched ^= records.get(id, KEY);
    for (const id of likely) if (id !== NO_RECORD) touched ^= order.touchNeighbours(id);
    this.touched[0] = touched;
  }

  /** The state of a bucket, which becomes the most recently used one. */
  use(bucketKey: string): BucketState | undefined {
    const id = this.find(bucketKey);
    if (id === NO_RECORD) return undefined;
    this.order.use(id);
    return this.stateOf(id);
  }

  /** Stores a state; the bucket becomes the most recently used one. Without `expiresAtUs` and `rank` (`forgetRank`) these stay unchanged. */
  set(bucketKey: string, state: BucketState, expiresAtUs?: number, rank?: number): void {
    let id = this.find(bucketKey);
    if (id === NO_RECORD) {
      id = this.add(rank ?? SLIGHTLY_USED);
      this.setExpiry(id, expiresAtUs ?? 0);
    } else {
      this.order.useAs(id, rank ?? this.order.rankOf(id));
      if (expiresAtUs !== undefined) this.setExpiry(id, expiresAtUs);
    }
    this.setState(id, state);
  }

  /** Returns whether there was one. */
  delete(bucketKey: string): boolean {
    const id = this.find(bucketKey);
    if (id === NO_RECORD) return false;
    this.remove(id);
    return true;
  }

  /** Calls `visit` with the keys of the next buckets, at most `steps`, until it returns false; returns the place after them, or undefined at the end. Keys that are kept as digests are left out. */
  walkKeys({ place, steps, visit }: WalkKeysInput): WalkPlace | undefined {
    return this.records.walk(place, steps, (id) => {
      const words = this.records.wordsOf(id);
      const record = this.records.offsetOf(id);
      if (isDigest(words, record)) return true;
      const bytes = this.joinKey(id);
      return visit(Buffer.from(this.joined.buffer, this.joined.byteOffset, bytes).toString('latin1'));
    });
  }

  /** Evicts the first bucket in the order of eviction for a maximum of `max`; returns its rank. */
  forgetOne(max: number): number {
    const rank = rankToForget(this.order.sizes, max);
    this.remove(this.order.oldestOf(rank));
    return rank;
  }

  /** Checks the next few buckets in turn, and drops expired ones. */
  dropExpired({ nowUs, steps }: { readonly nowUs: number; readonly steps: number }): void {
    const now = Math.floor((nowUs - this.sinceUs) / US_PER_S);
    for (let step = 0; step < steps; step += 1) {
      const id = this.records.next();
      if (id === NO_RECORD) return;
      const expires = this.records.get(id, EXPIRES) >>> 0;
      if (expires <= now && expires < NEVER_EXPIRES) this.remove(id);
    }
  }

  private find(bucketKey: string): number {
    const reading = this.readings.of(bucketKey);
    if (reading.record !== NO_RECORD && reading.moves === this.moves) return reading.record;
    let link = this.index.first(reading.hash);
    while (link !== NO_LINK && !this.isOfKey(idOf(link), reading)) link = this.index.next(link, reading.hash);
    reading.record = link === NO_LINK ? NO_RECORD : idOf(link);
    reading.moves = this.moves;
    return reading.record;
  }

  private isOfKey(id: number, { key, prefix, prefixWords: skipped }: KeyReading): boolean {
    const words = this.records.wordsOf(id);
    const record = this.records.offsetOf(id);
    const bytes = key.bytes - skipped * 4;
    if (prefixOf(words, record) !== prefix || keyBytes(words, record) !== bytes || isDigest(words, record) !== key.isDigest) return false;
    const count = (bytes + 3) >>> 2;
    for (let i = 0; i < count; i += 1) if (words[record + KEY + i] !== key.words[skipped + i]) return false;
    return true;
  }

  /** Adds a record for the key that was looked for last. */
  private add(rank: number): number {
    const reading = this.readings.latest;
    const { key, prefix, prefixWords: skipped } = reading;
    const bytes = key.bytes - skipped * 4;
    const count = (bytes + 3) >>> 2;
    const id = this.records.add(KEY + count);
    const words = this.records.wordsOf(id);
    const record = this.records.offsetOf(id);
    markKey(words, record, { bytes, isDigest: key.isDigest, prefix });
    for (let i = 0; i < count; i += 1) words[record + KEY + i] = key.words[skipped + i] ?? 0;
    this.index.add(id, reading.hash);
    this.order.add(id, rank);
    this.bucketCount += 1;
    reading.record = id;
    return id;
  }

  private remove(id: number): void {
    this.dropOverflow(id);
    this.index.remove(id);
    this.order.remove(id);
    const last = this.records.lastLike(id);
    if (last !== NO_RECORD) {
      this.index.move(last, id);
      this.order.move(last, id);
    }
    this.records.release(id);
    // Records found before may be the removed one, or have moved.
    this.moves += 1;
    this.bucketCount -= 1;
  }

  private hashOf(id: number): number {
    return this.hash(this.joined, this.joinKey(id));
  }

  /** Joins the key of a record in `joined`; returns its length in bytes. */
  private joinKey(id: number): number {
    const { joined } = this;
    const words = this.records.wordsOf(id);
    const record = this.records.offsetOf(id);
    const bytes = keyBytes(words, record);
    const prefix = this.prefixes.wordsOf(prefixOf(words, record));
    for (let i = 0; i < prefix.length; i += 1) joined[i] = prefix[i] ?? 0;
    const count = (bytes + 3) >>> 2;
    for (let i = 0; i < count; i += 1) joined[prefix.length + i] = words[record + KEY + i] ?? 0;
    return prefix.length * 4 + bytes;
  }

  private stateOf(id: number): BucketState | undefined {
    const words = this.records.wordsOf(id);
    const record = this.records.offsetOf(id);
    return readState(words, record) ?? this.overflow.get(overflowOf(words, record));
  }

  private setState(id: number, state: BucketState): void {
    const words = this.records.wordsOf(id);
    const record = this.records.offsetOf(id);
    const number = overflowOf(words, record);
    if (writeState(words, record, state)) this.overflow.drop(number);
    else writeOverflow(words, record, this.overflow.keep(state, number));
  }

  private dropOverflow(id: number): void {
    this.overflow.drop(overflowOf(this.records.wordsOf(id), this.records.offsetOf(id)));
  }

  private setExpiry(id: number, expiresAtUs: number): void {
    const seconds = Math.ceil((expiresAtUs - this.sinceUs) / US_PER_S);
    this.records.set(id, EXPIRES, Math.min(Math.max(0, seconds), NEVER_EXPIRES));
  }
}
