/** HalfSipHash-1-3: a keyed hash of 32 bits. Without its seed, nobody can construct colliding keys. */

import { randomBytes } from 'node:crypto';

export interface HashSeed {
  readonly first: number;
  readonly second: number;
}

/** A hash of the first `bytes` bytes of `words`, little-endian; the rest of the last word must be zero. */
export type WordsHash = (words: Int32Array, bytes: number) => number;

export function randomSeed(): HashSeed {
  const bytes = randomBytes(8);
  return { first: bytes.readInt32LE(0), second: bytes.readInt32LE(4) };
}

/**
 * After J.-P. Aumasson and D. J. Bernstein, "SipHash: a fast short-input PRF" (2012), in the form for 32-bit words:
 * one round for each word and three at the end, like the hash tables of Python, Rust and Linux.
 */
export function halfSipHash({ first, second }: HashSeed): WordsHash {
  return (words, bytes) => {
    let v0 = first;
    let v1 = second;
    let v2 = 0x6c796765 ^ first;
    let v3 = 0x74656462 ^ second;
    const whole = bytes >>> 2;
    const last = whole + 1;
    for (let round = 0; round < last + ROUNDS_AT_END; round += 1) {
      // The last word contains the remaining bytes and the total length.
      let word = 0;
      if (round < whole) word = words[round] ?? 0;
      else if (round === whole) word = (bytes << 24) | ((bytes & 3) === 0 ? 0 : (words[round] ?? 0));
      else if (round === last) v2 ^= 0xff;
      v3 ^= word;
      v0 = (v0 + v1) | 0;
      v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0;
      v0 = (v0 << 16) | (v0 >>> 16);
      v2 = (v2 + v3) | 0;
      v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2;
      v0 = (v0 + v3) | 0;
      v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0;
      v2 = (v2 + v1) | 0;
      v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2;
      v2 = (v2 << 16) | (v2 >>> 16);
      v0 ^= word;
    }
    return v1 ^ v3;
  };
}

const ROUNDS_AT_END = 3;
