/** Finds what is wrong with the key of a last entry (`reserve`, `fair`), which follows the entries of a descriptor. */

import { toByteString } from '../../domain/descriptor/byte-string';
import { findChild, type DescriptorLevel } from '../../domain/rule/tree';
import { show } from '../../lib/quote';
import type { DescriptorSpec } from './read/read-file';

export interface LastEntryPlace {
  /** The descriptor's levels, from the root down to itself. */
  readonly levels: readonly DescriptorSpec[];
  readonly children: DescriptorLevel;
}

/** Undefined: nothing. */
export function lastEntryFault(entry: string, { levels, children }: LastEntryPlace): string | undefined {
  const key = toByteString(entry);
  if (levels.some((level) => level.key === entry))
    return `${show(entry)} is a key of this descriptor; name one that comes after its entries`;
  if (children.byValue.has(key) || findChild(children, { key, value: '' }) !== undefined)
    return `${show(entry)} is a key of a descriptor below this one, which wins; rename one of them`;
  return undefined;
}
