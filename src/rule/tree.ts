/** The descriptor tree, in which the entries of a request find their rule. */

import type { Rule } from './rule';
import type { ByteString, Entry } from '../descriptor/descriptor';
import { WildcardIndex } from './wildcard-index';

export interface DescriptorNode {
  /** Absent: a descriptor that ends here is answered OK and not counted. */
  readonly rule?: Rule;
  readonly children: DescriptorLevel;
}

/** The children of one node. */
export interface DescriptorLevel {
  /** Nodes with a key and a value, by key, then by value. */
  readonly byValue: ReadonlyMap<ByteString, ReadonlyMap<ByteString, DescriptorNode>>;
  /** Nodes with a `*`. */
  readonly wildcards: WildcardIndex<DescriptorNode>;
  /** Nodes with only a key: they match every other value of it. */
  readonly byKey: ReadonlyMap<ByteString, DescriptorNode>;
}

/** Children of a leaf. */
export const NO_CHILDREN: DescriptorLevel = { byValue: new Map(), wildcards: new WildcardIndex(), byKey: new Map() };

/**
 * The node for the entries, or undefined. At each level the exact value wins, then the first wildcard declared,
 * then the key alone. A level without a match ends the search, and the node's depth must equal the
 * number of entries (the reference's rules).
 */
export function findNode(root: DescriptorLevel, entries: readonly Entry[]): DescriptorNode | undefined {
  let level = root;
  let node: DescriptorNode | undefined;
  for (const entry of entries) {
    node = findChild(level, entry);
    if (node === undefined) return undefined;
    level = node.children;
  }
  return node;
}

/** The node that matches the entry on one level. */
export function findChild(level: DescriptorLevel, entry: Entry): DescriptorNode | undefined {
  const { key, value } = entry;
  return level.byValue.get(key)?.get(value) ?? level.wildcards.find(entry) ?? level.byKey.get(key);
}
