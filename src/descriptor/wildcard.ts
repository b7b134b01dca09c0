/** Patterns in which each `*` stands for any bytes, or none. */

import type { ByteString } from './descriptor';

/** A pattern, split at its stars when the configuration is loaded so that a request only compares. */
export interface Wildcard {
  readonly prefix: ByteString;
  /** What must follow the prefix, in order, each at the first place it is found. */
  readonly middles: readonly ByteString[];
  /** Absent: the pattern has no star, and the prefix is all of it. */
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
