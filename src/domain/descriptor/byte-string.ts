/** Converts between text and byte strings. */

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
