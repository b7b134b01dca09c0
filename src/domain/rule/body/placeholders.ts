/** The placeholders of a body: their names, and the most bytes that their values may have. */

import type { ByteString } from '../../descriptor/descriptor';

/** Most bytes of a text that fills a placeholder, before it is escaped; longer ones are cut. */
export const VALUE_BYTES_MAX = 256;

/** Most characters of the name of a limit; it is printable ASCII. */
export const POLICY_NAME_CHARS_MAX = 64;

/** Most names in `{violated_policies}`. */
export const VIOLATED_POLICIES_MAX = 16;

/** One byte may become `\u001f`, and `…` marks a cut. */
const ESCAPED_TEXT_BYTES_MAX = 6 * VALUE_BYTES_MAX + 3;
const NUMBER_BYTES_MAX = 24;
/** With the number of a repeated name, quotes and a comma. */
const ESCAPED_NAME_BYTES_MAX = 6 * POLICY_NAME_CHARS_MAX + 8;

/** By name, the most bytes of the value in a body. */
const BYTES_MAX = {
  limit_name: ESCAPED_NAME_BYTES_MAX,
  rule: ESCAPED_TEXT_BYTES_MAX,
  detail: ESCAPED_TEXT_BYTES_MAX,
  limit: NUMBER_BYTES_MAX,
  unit: NUMBER_BYTES_MAX,
  window_s: NUMBER_BYTES_MAX,
  most_at_once: NUMBER_BYTES_MAX,
  remaining: NUMBER_BYTES_MAX,
  hits: NUMBER_BYTES_MAX,
  retry_after_s: NUMBER_BYTES_MAX,
  retry_after_ms: NUMBER_BYTES_MAX,
  retry_at_s: NUMBER_BYTES_MAX,
  never_fits: NUMBER_BYTES_MAX,
  violated_policies: VIOLATED_POLICIES_MAX * ESCAPED_NAME_BYTES_MAX,
} as const;

/** A placeholder without a parameter. */
export type PlaceholderName = keyof typeof BYTES_MAX;

export const PLACEHOLDER_NAMES = Object.keys(BYTES_MAX) as readonly PlaceholderName[];

/** Has no value if no wait helps. */
const WAITS: ReadonlySet<string> = new Set<PlaceholderName>(['retry_after_s', 'retry_after_ms', 'retry_at_s']);

/** A placeholder in its place: a name of the list, or the value of the caller's entry with a key. */
export type Placeholder = { readonly name: PlaceholderName } | { readonly name: 'entry'; readonly key: ByteString };

export function isPlaceholderName(name: string): name is PlaceholderName {
  return Object.hasOwn(BYTES_MAX, name);
}

export function saysWait({ name }: Placeholder): boolean {
  return WAITS.has(name);
}

export function bytesMaxOf({ name }: Placeholder): number {
  return name === 'entry' ? ESCAPED_TEXT_BYTES_MAX : BYTES_MAX[name];
}
