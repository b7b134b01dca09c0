/** The descriptor tree, in which the entries of a request find their rule. */

import type { Rule } from './rule';
import { toText } from '../descriptor/byte-string';
import type { ByteString, Entry } from '../descriptor/descriptor';
import { areLast, lastEntryOf } from '../descriptor/last-entry';
import type { NetworkIndex } from '../descriptor/network-index';
import { WildcardIndex } from '../descriptor/wildcard-index';

export interface DescriptorNode {
  /** Absent: a descriptor that ends here is answered OK and not counted. */
  readonly rule?: Rule;
  /** The names of its levels, if it has neither a rule nor children: the configuration says that its descriptor needs no limit. */
  readonly unlimitedPath?: readonly string[];
  readonly children: DescriptorLevel;
}

/** The children of one node. */
export interface DescriptorLevel {
  /** Nodes with a key and a value, by key, then by value. */
  readonly byValue: ReadonlyMap<ByteString, ReadonlyMap<ByteString, DescriptorNode>>;
  /** Nodes with an address range; absent: there are none. */
  readonly networks?: NetworkIndex<DescriptorNode> | undefined;
  /** Nodes with a `*`. */
  readonly wildcards: WildcardIndex<DescriptorNode>;
  /** Nodes with only a key: they match every other value of it. */
  readonly byKey: ReadonlyMap<ByteString, DescriptorNode>;
}

/** Children of a leaf. */
export const NO_CHILDREN: DescriptorLevel = { byValue: new Map(), wildcards: new WildcardIndex(), byKey: new Map() };

/**
 * The node for the entries, or undefined. At each level the exact value wins, then the address range
 * with the longest prefix, then the first wildcard declared, then the key alone. A level without a match ends the search, and the node's depth must equal the
 * number of entries (the reference's rules). Only the last entry of a `reserve` or of `fair` may follow.
 */
export function findNode(root: DescriptorLevel, entries: readonly Entry[]): DescriptorNode | undefined {
  let level = root;
  let node: DescriptorNode | undefined;
  for (const entry of entries) {
    const child = findChild(level, entry);
    if (child === undefined) return endsInLast(node, entries) ? node : undefined;
    node = child;
    level = child.children;
  }
  return node;
}

/** Whether the entries beyond the node's rule are only its last entry. */
export function endsInLast(node: DescriptorNode | undefined, entries: readonly Entry[]): boolean {
  const last = node?.rule === undefined ? undefined : lastEntryOf(node.rule);
  return last !== undefined && areLast(last, entries, last.level);
}

/** The node that matches the entry on one level. */
export function findChild(level: DescriptorLevel, entry: Entry): DescriptorNode | undefined {
  const { key, value } = entry;
  return level.byValue.get(key)?.get(value) ?? level.networks?.find(entry) ?? level.wildcards.find(entry) ?? level.byKey.get(key);
}

/** A rule of the tree. */
export interface PlacedRule {
  readonly rule: Rule;
  /** By level, whether the descriptor has a single value. */
  readonly isExact: readonly boolean[];
}

/** The name of a rule, as `/rlconfig` and metrics show it: `domain.key_value.key`. */
export function ruleName(domain: ByteString, path: readonly string[]): string {
  return [toText(domain), ...path].join('.');
}

/** Every rule at or below the level. `isExact`: that of the levels above. */
export function* rulesOf(level: DescriptorLevel, isExact: readonly boolean[] = []): Generator<PlacedRule> {
  for (const { node, hasValue } of nodesOf(level)) {
    const path = [...isExact, hasValue];
    if (node.rule !== undefined) yield { rule: node.rule, isExact: path };
    yield* rulesOf(node.children, path);
  }
}

function* nodesOf(level: DescriptorLevel): Generator<{ readonly node: DescriptorNode; readonly hasValue: boolean }> {
  for (const values of level.byValue.values()) for (const node of values.values()) yield { node, hasValue: true };
  for (const { node } of level.networks?.nodes ?? []) yield { node, hasValue: false };
  for (const { node } of level.wildcards.nodes) yield { node, hasValue: false };
  for (const node of level.byKey.values()) yield { node, hasValue: false };
}
