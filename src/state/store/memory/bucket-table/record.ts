/** The layout of a bucket's record: its links, its state and the marks of its key. */

import type { BucketState } from '../../../../domain/algorithm/algorithms';

/** The next record in the same slot of the index. */
export const NEXT = 0;
/** Neighbours in the order of last use, within the rank; `OLDER` also contains the rank. */
export const NEWER = 1;
export const OLDER = 2;
/** Expiry time; the table defines the unit. */
export const EXPIRES = 3;
/** The high bits of two numbers of the state, with marks of the key above them, so that both fill their word. */
const HIGH_A = 4;
const HIGH_B = 5;
const LOW_A = 6;
const LOW_B = 7;
const COUNT = 8;
/** The first word of the key after its prefix. */
export const KEY = 9;

/** HIGH_A: 21 bits of the number, 2 of the form of the state, 8 of the length of the key in bytes, 1 for a digest. */
const HIGH_A_BITS = 21;
const FORM_MASK = 3;
const BYTES_SHIFT = HIGH_A_BITS + 2;
const BYTES_MASK = 0xff;
const DIGEST = 1 << 31;
/** HIGH_B: 20 bits of the number, 12 of the number of the key's prefix. */
const HIGH_B_BITS = 20;

const A_MAX = 2 ** (32 + HIGH_A_BITS) - 1;
const B_MAX = 2 ** (32 + HIGH_B_BITS) - 1;
const COUNT_MAX = 2 ** 32 - 1;

/** Forms of a state. `OVERFLOW`: the record only has the number of an overflow state. */
const TOKENS = 0;
const WINDOW = 1;
const WINDOWS = 2;
const OVERFLOW = 3;

export interface KeyMark {
  /** Bytes of the key after its prefix, or of its digest. */
  readonly bytes: number;
  readonly isDigest: boolean;
  readonly prefix: number;
}

/** Writes the marks of the key into a new record. */
export function markKey(words: Int32Array, record: number, { bytes, isDigest, prefix }: KeyMark): void {
  words[record + HIGH_A] = (bytes << BYTES_SHIFT) | (isDigest ? DIGEST : 0);
  words[record + HIGH_B] = prefix << HIGH_B_BITS;
}

export function keyBytes(words: Int32Array, record: number): number {
  return ((words[record + HIGH_A] ?? 0) >>> BYTES_SHIFT) & BYTES_MASK;
}

export function isDigest(words: Int32Array, record: number): boolean {
  return ((words[record + HIGH_A] ?? 0) & DIGEST) !== 0;
}

export function prefixOf(words: Int32Array, record: number): number {
  return (words[record + HIGH_B] ?? 0) >>> HIGH_B_BITS;
}

/**
 * Writes a state of integers, as all engines except logs make them; false for an overflow state.
 * Tokens and hits in a fixed window are stored minus one, because an unused bucket has no record: so 2^32, a full leaky bucket, fits.
 */
export function writeState(words: Int32Array, record: number, state: BucketState): boolean {
  if ('rest' in state) return write(words, record, TOKENS, state.atUs, state.rest, state.used - 1);
  if ('previous' in state) return write(words, record, WINDOWS, state.index, state.previous, state.current);
  if ('used' in state) return write(words, record, WINDOW, state.index, 0, state.used - 1);
  return false;
}

/** Writes the number of an overflow state. */
export function writeOverflow(words: Int32Array, record: number, number: number): void {
  write(words, record, OVERFLOW, 0, 0, number);
}

/** Plain parameters, because an object for each write would cost too much. */
function write(words: Int32Array, record: number, form: number, a: number, b: number, count: number): boolean {
  if (!(a >= 0 && a <= A_MAX && b >= 0 && b <= B_MAX && count >= 0 && count <= COUNT_MAX)) return false;
  const markA = (words[record + HIGH_A] ?? 0) >>> BYTES_SHIFT;
  const markB = (words[record + HIGH_B] ?? 0) >>> HIGH_B_BITS;
  words[record + HIGH_A] = (markA << BYTES_SHIFT) | (form << HIGH_A_BITS) | highOf(a);
  words[record + HIGH_B] = (markB << HIGH_B_BITS) | highOf(b);
  words[record + LOW_A] = a | 0;
  words[record + LOW_B] = b | 0;
  words[record + COUNT] = count | 0;
  return true;
}

/** The state in a record; undefined for an overflow state. */
export function readState(words: Int32Array, record: number): BucketState | undefined {
  const highA = words[record + HIGH_A] ?? 0;
  const a = joined(highA & ((1 << HIGH_A_BITS) - 1), words[record + LOW_A] ?? 0);
  const b = joined((words[record + HIGH_B] ?? 0) & ((1 << HIGH_B_BITS) - 1), words[record + LOW_B] ?? 0);
  const count = (words[record + COUNT] ?? 0) >>> 0;
  const form = (highA >>> HIGH_A_BITS) & FORM_MASK;
  // `elapsedUs` is not stored: the engine sets it from the clock.
  if (form === TOKENS) return { used: count + 1, rest: b, atUs: a };
  if (form === WINDOWS) return { index: a, current: count, previous: b, elapsedUs: 0 };
  if (form === WINDOW) return { index: a, used: count + 1 };
  return undefined;
}

/** The number of a record's overflow state; undefined if the state is in the record. */
export function overflowOf(words: Int32Array, record: number): number | undefined {
  const isOverflow = (((words[record + HIGH_A] ?? 0) >>> HIGH_A_BITS) & FORM_MASK) === OVERFLOW;
  return isOverflow ? words[record + COUNT] : undefined;
}

function highOf(value: number): number {
  return Math.floor(value / 2 ** 32);
}

function joined(high: number, low: number): number {
  return high * 2 ** 32 + (low >>> 0);
}
