/** The descriptor tree: how the entries of a request find their rule. */

import type { Rule } from '../rule/rule';
import type { ByteString, Entry } from './descriptor';
import { WildcardIndex } from './wildcard-index';

export interface DescriptorNode {
  /** Absent: a descriptor that ends here is answered OK, uncounted. */
  readonly rule?: Rule;
  readonly children: DescriptorLevel;
}

/** The children of one node. */
export interface DescriptorLevel {
  /** Nodes with a key and a value: by key, then by value. */
  readonly byValue: ReadonlyMap<ByteString, ReadonlyMap<ByteString, DescriptorNode>>;
  /** Nodes with a `*`. */
  readonly wildcards: WildcardIndex;
  /** Nodes with a key alone: they take every other value of it. */
  readonly byKey: ReadonlyMap<ByteString, DescriptorNode>;
}

/** Below a node that has no children. */
export const NO_CHILDREN: DescriptorLevel = { byValue: new Map(), wildcards: new WildcardIndex(), byKey: new Map() };

/**
 * The node for the entries, or undefined. At each level the exact value wins, then the first wildcard declared,
 * then the key alone; there is no way back from a level that does not match, and the node must be as deep as the
 * entries are many (the reference's rules).
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

/** What takes the entry on one level. */
export function findChild(level: DescriptorLevel, entry: Entry): DescriptorNode | undefined {
  const { key, value } = entry;
  return level.byValue.get(key)?.get(value) ?? level.wildcards.find(entry) ?? level.byKey.get(key);
}
