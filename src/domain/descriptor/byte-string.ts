/** Converts between text and byte strings, and copies byte strings. */

import type { ByteString } from './descriptor';

/** In ASCII, text and byte string are the same. */
const ASCII = /^[\0-\x7f]*$/;

/** Text, for example from a config file, as the bytes that Envoy would send. */
export function toByteString(text: string): ByteString {
  return ASCII.test(text) ? text : Buffer.from(text, 'utf8').toString('latin1');
}

/** Bytes as text for people; invalid UTF-8 becomes U+FFFD. */
export function toText(bytes: ByteString): string {
  return Buffer.from(bytes, 'latin1').toString('utf8');
}

/** From this length on V8 keeps the whole message of a slice. */
const SLICE_CHARS_MIN = 13;

/** A copy of a text that may be a slice of a message, which it would keep in memory. */
export function copyOf(bytes: ByteString): ByteString {
  return bytes.length < SLICE_CHARS_MIN ? bytes : Buffer.from(bytes, 'latin1').toString('latin1');
}
