/** A bucket key as 32-bit words, which the table hashes, compares and stores. */

import { createHash } from 'node:crypto';

/** Longest key in clear text, in bytes; a longer one is replaced by its SHA-256, which bounds the memory of a bucket. */
export const KEY_BYTES_MAX = 252;

const WORDS_MAX = KEY_BYTES_MAX / 4;

/** End of the part of a key that comes from the configuration: the name of its first entry. */
const NAME_END = '=';

/** Holds one key at a time. */
export class KeyWords {
  /** Four bytes each, little-endian; the rest of the last word is zero. */
  readonly words = new Int32Array(WORDS_MAX);
  /** Bytes of the key, or of its digest. */
  bytes = 0;
  /** Whether the words are the key's SHA-256; such a key differs from every key in clear text. */
  isDigest = false;
  /** Number of words completely before the first value of the key, which other keys share. */
  prefixWords = 0;

  read(key: string): void {
    if (key.length > KEY_BYTES_MAX || !this.readBytes(key)) {
      this.readDigest(key);
      return;
    }
    this.bytes = key.length;
    this.isDigest = false;
    this.prefixWords = (key.indexOf(NAME_END) + 1) >>> 2;
  }

  /** False if a character takes more than one byte. */
  private readBytes(key: string): boolean {
    const { words } = this;
    const whole = key.length & ~3;
    let all = 0;
    for (let at = 0; at < whole; at += 4) {
      const a = key.charCodeAt(at);
      const b = key.charCodeAt(at + 1);
      const c = key.charCodeAt(at + 2);
      const d = key.charCodeAt(at + 3);
      all |= a | b | c | d;
      words[at >>> 2] = a | (b << 8) | (c << 16) | (d << 24);
    }
    if (whole < key.length) {
      let word = 0;
      for (let at = key.length - 1; at >= whole; at -= 1) {
        const code = key.charCodeAt(at);
        all |= code;
        word = (word << 8) | code;
      }
      words[whole >>> 2] = word;
    }
    return all <= 0xff;
  }

  private readDigest(key: string): void {
    const digest = createHash('sha256').update(key, 'utf16le').digest();
    for (let at = 0; at < digest.length; at += 4) this.words[at >>> 2] = digest.readInt32LE(at);
    this.bytes = digest.length;
    this.isDigest = true;
    this.prefixWords = 0;
  }
}
