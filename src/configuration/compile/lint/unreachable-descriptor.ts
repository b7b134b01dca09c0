/** Warns of descriptors that no request can match, because a wildcard matches all of their values. */

import { toByteString } from '../../../domain/descriptor/byte-string';
import type { Entry } from '../../../domain/descriptor/descriptor';
import type { DescriptorSpec } from '../read/read-file';
import { show } from '../../../lib/quote';
import type { Declared, DeclaredLevel } from './declared-level';

/** A character that no byte string contains, so only a star matches it: a pattern that matches it in place of another's stars matches all of the other's values. */
const ANYTHING = '\u{100}';

/** False for an exact value, which is always looked up first. */
export function mayBeUnreachable(spec: DescriptorSpec): boolean {
  return isWildcard(spec) || spec.value === '';
}

/** Matches like a request, with a value that stands for all values of the descriptor. */
export function warnOfUnreachable({ spec, node }: Declared, { level, declared }: DeclaredLevel): void {
  if (!mayBeUnreachable(spec)) return;
  const takerNode = level.wildcards.find(anythingOf(spec));
  if (takerNode === undefined || takerNode === node) return;
  const taker = declared.find((each) => each.node === takerNode)?.spec;
  if (taker === undefined || isSame(taker, spec)) return;
  const place = spec.problems.placeOf(taker);
  const message = isWildcard(spec)
    ? `${nameOf(spec)} is never matched: ${takerName(taker, spec)} ${place}, declared before it, matches all that it would; declare it first, or remove it`
    : `key ${show(spec.key)} alone is never matched: ${takerName(taker, spec)} ${place} matches every value; remove one of them`;
  spec.problems.warn({ rule: 'unreachable-descriptor', offset: spec.offset, path: spec.path, message });
}

function isWildcard({ key, value }: DescriptorSpec): boolean {
  return key.includes('*') || value.includes('*');
}

/** Duplicates are an error of their own. */
function isSame(one: DescriptorSpec, other: DescriptorSpec): boolean {
  return one.key === other.key && one.value === other.value;
}

function anythingOf({ key, value }: DescriptorSpec): Entry {
  const withAnything = (pattern: string) => toByteString(pattern).replaceAll('*', ANYTHING);
  return { key: withAnything(key), value: value === '' ? ANYTHING : withAnything(value) };
}

function nameOf({ key, value }: DescriptorSpec): string {
  return value === '' ? `key ${show(key)}` : `key ${show(key)} with value ${show(value)}`;
}

function takerName(taker: DescriptorSpec, { key }: DescriptorSpec): string {
  return taker.key === key && taker.value !== '' ? `value ${show(taker.value)}` : nameOf(taker);
}
