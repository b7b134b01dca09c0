/** The words of a bucket's record, and how its state and what marks its key lie in them. */

import type { BucketState } from '../../engine/engines';

/** The next record of the same slot of the index. */
export const NEXT = 0;
/** Neighbours in the order of last use. */
export const NEWER = 1;
export const OLDER = 2;
/** When it may be dropped; the table says in what unit. */
export const EXPIRES = 3;
/** The high bits of two of the state's numbers; above them what marks the key, so that both fill their word. */
const HIGH_A = 4;
const HIGH_B = 5;
const LOW_A = 6;
const LOW_B = 7;
const COUNT = 8;
/** The first word of the key, less its prefix. */
export const KEY = 9;

/** HIGH_A: 21 bits of the number, 2 of the form of the state, 8 of the bytes of the key, 1 if they are a digest. */
const HIGH_A_BITS = 21;
const FORM_MASK = 3;
const BYTES_SHIFT = HIGH_A_BITS + 2;
const BYTES_MASK = 0xff;
const DIGEST = 1 << 31;
/** HIGH_B: 20 bits of the number, 12 of the key's prefix. */
const HIGH_B_BITS = 20;

const A_MAX = 2 ** (32 + HIGH_A_BITS) - 1;
const B_MAX = 2 ** (32 + HIGH_B_BITS) - 1;
const COUNT_MAX = 2 ** 32 - 1;

/** Forms of a state. `ASIDE`: it is not in the record, but kept aside under a number. */
const TOKENS = 0;
const WINDOW = 1;
const WINDOWS = 2;
const ASIDE = 3;

export interface KeyMark {
  /** Of the key less its prefix, or of its digest. */
  readonly bytes: number;
  readonly isDigest: boolean;
  readonly prefix: number;
}

/** Writes what marks the key into a new record. */
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
 * Writes a state of whole numbers as every engine makes them, but a log; false if it is something else, and is to be kept aside.
 * Of tokens and hits in a fixed window at least one is used, or there would be no record: so 2^32, a full leaky bucket, fits.
 */
export function writeState(words: Int32Array, record: number, state: BucketState): boolean {
  if ('rest' in state) return write(words, record, TOKENS, state.atUs, state.rest, state.used - 1);
  if ('previous' in state) return write(words, record, WINDOWS, state.index, state.previous, state.current);
  if ('used' in state) return write(words, record, WINDOW, state.index, 0, state.used - 1);
  return false;
}

/** Writes the number of a state that is kept aside. */
export function writeAside(words: Int32Array, record: number, number: number): void {
  write(words, record, ASIDE, 0, 0, number);
}

/** Numbers side by side, since an object of them for each write is much. */
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

/** The state in a record; undefined if it is kept aside. */
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

/** Under which number the state of a record is kept aside; undefined if it is in the record. */
export function asideOf(words: Int32Array, record: number): number | undefined {
  const isAside = (((words[record + HIGH_A] ?? 0) >>> HIGH_A_BITS) & FORM_MASK) === ASIDE;
  return isAside ? words[record + COUNT] : undefined;
}

function highOf(value: number): number {
  return Math.floor(value / 2 ** 32);
}

function joined(high: number, low: number): number {
  return high * 2 ** 32 + (low >>> 0);
}
