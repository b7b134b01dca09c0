/** The two ways between text and byte strings. */

import type { ByteString } from './descriptor';

/** Text (a config file's, say) as the bytes that Envoy would send for it. */
export function toByteString(text: string): ByteString {
  return Buffer.from(text, 'utf8').toString('latin1');
}

/** Bytes as text to show a person; what is no UTF-8 shows as U+FFFD. */
export function toText(bytes: ByteString): string {
  return Buffer.from(bytes, 'latin1').toString('utf8');
}
