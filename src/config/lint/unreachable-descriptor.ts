/** Warns of descriptors that no request finds, because a wildcard takes all that they would. */

import { toByteString } from '../../descriptor/byte-string';
import type { Entry } from '../../descriptor/descriptor';
import type { DescriptorSpec } from '../schema';
import { show } from '../show';
import type { Declared, DeclaredLevel } from './declared-level';

/** No byte string has it, so only a star takes it: a pattern that takes it for another's stars takes all of the other. */
const ANYTHING = '\u{100}';

/** Asks the level as a request would, with a value that stands for all that the descriptor takes. */
export function warnOfUnreachable({ spec, node }: Declared, { level, declared }: DeclaredLevel): void {
  // An exact value is looked up first, whatever else there is.
  if (!isWildcard(spec) && spec.value !== '') return;
  const takerNode = level.wildcards.find(anythingOf(spec));
  if (takerNode === undefined || takerNode === node) return;
  const taker = declared.find((each) => each.node === takerNode)?.spec;
  if (taker === undefined || isSame(taker, spec)) return;
  const place = spec.problems.placeOf(taker);
  const message = isWildcard(spec)
    ? `${nameOf(spec)} is never matched: ${takerName(taker, spec)} ${place}, declared before it, takes all that it would; declare it first, or remove it`
    : `key ${show(spec.key)} alone is never matched: ${takerName(taker, spec)} ${place} takes every value; remove one of them`;
  spec.problems.warn({ rule: 'unreachable-descriptor', offset: spec.offset, path: spec.path, message });
}

function isWildcard({ key, value }: DescriptorSpec): boolean {
  return key.includes('*') || value.includes('*');
}

/** Configured twice, which is an error of its own. */
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
