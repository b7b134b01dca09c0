/** Patterns in which each `*` matches any bytes, or none. */

import type { ByteString } from './descriptor';

/** A pattern split at its stars when the configuration is loaded, so that requests only compare. */
export interface Wildcard {
  readonly prefix: ByteString;
  /** Texts that must follow the prefix in this order, each matched at its first occurrence. */
  readonly middles: readonly ByteString[];
  /** Absent: the pattern has no star and equals the prefix. */
  readonly suffix?: ByteString;
}

export function compileWildcard(pattern: ByteString): Wildcard {
  const [prefix = '', ...rest] = pattern.split('*');
  const suffix = rest.pop();
  const middles = rest.filter((part) => part !== '');
  return suffix === undefined ? { prefix, middles } : { prefix, middles, suffix };
}

export function matchesWildcard(wildcard: Wildcard, text: ByteString): boolean {
  const { prefix, middles, suffix } = wildcard;
  if (suffix === undefined) return text === prefix;
  if (!text.startsWith(prefix) || !text.endsWith(suffix)) return false;
  let from = prefix.length;
  for (const middle of middles) {
    const found = text.indexOf(middle, from);
    if (found < 0) return false;
    from = found + middle.length;
  }
  return from <= text.length - suffix.length;
}
