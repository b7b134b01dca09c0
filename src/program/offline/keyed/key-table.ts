/** Numbers for the keys of one kind of descriptor, so that data about keys can be stored in arrays of numbers. */

import { randomBytes } from 'node:crypto';

const PLACES_MIN = 4_096;

/** Bytes of texts that are stored together. */
const CHUNK_BYTES = 1024 * 1024;

const FREE = 0;

/**
 * A key is found by 64 bits of its hash alone. Two of a million keys are confused once in 30 million runs, and nobody without the seed can provoke it.
 */
export class KeyTable {
  /** The number of keys; their numbers are from 0. */
  size = 0;
  /** By place: the number of a key plus one. */
  private places = new Int32Array(PLACES_MIN);
  /** By number: both halves of the hash. */
  private hashes = new Int32Array(PLACES_MIN);
  /** By number: where the text is. */
  private offsets = new Float64Array(PLACES_MIN / 2);
  private lengths = new Uint32Array(PLACES_MIN / 2);
  private chunks: Buffer[] = [];
  private chunkUsed = CHUNK_BYTES;
  private readonly seed = randomBytes(8).readInt32LE(0);
  private lastText: string | undefined;
  private lastNumber = 0;

  /** The number of a key, a new one if it is new. */
  numberOf(text: string): number {
    if (text === this.lastText) return this.lastNumber;
    let low = this.seed ^ text.length;
    let high = 0x74656462 ^ this.seed;
    for (let i = 0; i < text.length; i += 1) {
      const code = text.charCodeAt(i);
      low = Math.imul(low ^ code, 0x01000193);
      high = Math.imul(high ^ code, 0x5bd1e995) ^ (high >>> 13);
    }
    low = Math.imul(low ^ (low >>> 16) ^ high, 0x2c1b3c6d);
    low ^= low >>> 15;
    high = Math.imul(high ^ (high >>> 15), 0x297a2d39);
    const { places, hashes } = this;
    const mask = places.length - 1;
    let place = low & mask;
    for (let found = places[place] ?? FREE; found !== FREE; found = places[place] ?? FREE) {
      if (hashes[2 * found - 2] === low && hashes[2 * found - 1] === high) return this.remember(text, found - 1);
      place = (place + 1) & mask;
    }
    places[place] = this.size + 1;
    return this.remember(text, this.add(text, low, high));
  }

  textOf(number: number): string {
    const offset = this.offsets[number] ?? 0;
    const chunk = this.chunks[Math.floor(offset / CHUNK_BYTES)];
    const from = offset % CHUNK_BYTES;
    return chunk?.toString('latin1', from, from + (this.lengths[number] ?? 0)) ?? '';
  }

  /** Keeps only some keys, which get the numbers from 0 on in their order. */
  keep(kept: readonly number[] | Int32Array): void {
    const texts = new KeyTable();
    const { hashes } = this;
    const ofKept = new Int32Array(Math.max(PLACES_MIN, 2 * kept.length));
    for (let i = 0; i < kept.length; i += 1) {
      const number = kept[i] ?? 0;
      ofKept[2 * i] = hashes[2 * number] ?? 0;
      ofKept[2 * i + 1] = hashes[2 * number + 1] ?? 0;
      texts.store(this.textOf(number), i);
    }
    this.hashes = ofKept;
    this.offsets = texts.offsets;
    this.lengths = texts.lengths;
    this.chunks = texts.chunks;
    this.chunkUsed = texts.chunkUsed;
    this.size = kept.length;
    this.lastText = undefined;
    this.link(this.places.length);
  }

  private remember(text: string, number: number): number {
    this.lastText = text;
    this.lastNumber = number;
    return number;
  }

  private add(text: string, low: number, high: number): number {
    const number = this.size;
    if (2 * number >= this.hashes.length) this.hashes = longer(this.hashes, new Int32Array(2 * this.hashes.length));
    this.hashes[2 * number] = low;
    this.hashes[2 * number + 1] = high;
    this.store(text, number);
    this.size += 1;
    if (2 * this.size > this.places.length) this.link(2 * this.places.length);
    return number;
  }

  private store(text: string, number: number): void {
    if (number >= this.lengths.length) {
      this.offsets = longer(this.offsets, new Float64Array(2 * Math.max(this.offsets.length, number)));
      this.lengths = longer(this.lengths, new Uint32Array(2 * Math.max(this.lengths.length, number)));
    }
    if (this.chunkUsed + text.length > CHUNK_BYTES) {
      this.chunks.push(Buffer.allocUnsafeSlow(CHUNK_BYTES));
      this.chunkUsed = 0;
    }
    // A text longer than a chunk is cut: it is only shown.
    const length = Math.min(text.length, CHUNK_BYTES);
    this.chunks.at(-1)?.write(text, this.chunkUsed, length, 'latin1');
    this.offsets[number] = (this.chunks.length - 1) * CHUNK_BYTES + this.chunkUsed;
    this.lengths[number] = length;
    this.chunkUsed += length;
  }

  private link(length: number): void {
    const places = new Int32Array(length);
    const mask = length - 1;
    for (let number = 0; number < this.size; number += 1) {
      let place = (this.hashes[2 * number] ?? 0) & mask;
      while (places[place] !== FREE) place = (place + 1) & mask;
      places[place] = number + 1;
    }
    this.places = places;
  }
}

function longer<Numbers extends Int32Array | Uint32Array | Float64Array>(before: Numbers, after: Numbers): Numbers {
  after.set(before);
  return after;
}
