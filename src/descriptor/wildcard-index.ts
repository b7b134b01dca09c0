/** The wildcards of a level, found by what they say literally: a level of thousands costs little more than one of ten. */

import type { ByteString, Entry } from './descriptor';
import type { DescriptorNode } from './tree';
import { matchesWildcard, type Wildcard } from './wildcard';

export interface WildcardNode {
  readonly key: Wildcard;
  readonly value: Wildcard;
  readonly node: DescriptorNode;
}

/** A node with its place among those of the level. */
interface Placed extends WildcardNode {
  readonly place: number;
}

/**
 * Nodes whose key has no star are kept by key, and there by the longer of what their value begins and ends with. Only
 * those that share it are compared one by one, and those whose key has a star.
 */
export class WildcardIndex {
  private readonly placed: Placed[] = [];
  private readonly byKey = new Map<ByteString, ValueIndex>();
  private readonly starredKeys: Placed[] = [];

  /** In the order in which they are declared. */
  constructor(nodes: Iterable<WildcardNode> = []) {
    for (const node of nodes) this.add(node);
  }

  add(node: WildcardNode): void {
    const placed = { ...node, place: this.placed.length };
    this.placed.push(placed);
    if (node.key.suffix !== undefined) {
      this.starredKeys.push(placed);
      return;
    }
    let values = this.byKey.get(node.key.prefix);
    if (values === undefined) this.byKey.set(node.key.prefix, (values = new ValueIndex()));
    values.add(placed);
  }

  /** All of them, in the order in which they were declared. */
  get nodes(): readonly WildcardNode[] {
    return this.placed;
  }

  /** The first declared that matches. */
  find(entry: Entry): DescriptorNode | undefined {
    if (this.placed.length === 0) return undefined;
    const found = this.byKey.get(entry.key)?.find(entry);
    return firstOf(this.starredKeys, entry, found)?.node;
  }
}

/** Nodes of one key, by the literal beginning or end of their values. */
class ValueIndex {
  private readonly byPrefix = new LiteralIndex((text, length) => text.slice(0, length));
  private readonly bySuffix = new LiteralIndex((text, length) => text.slice(text.length - length));

  add(node: Placed): void {
    const { prefix, suffix = '' } = node.value;
    if (suffix.length > prefix.length) this.bySuffix.add(suffix, node);
    else this.byPrefix.add(prefix, node);
  }

  find(entry: Entry): Placed | undefined {
    return this.bySuffix.find(entry, this.byPrefix.find(entry, undefined));
  }
}

/** Nodes by a part of the value that is as long as their literal; each length that occurs is looked up once. */
class LiteralIndex {
  private readonly byLiteral = new Map<number, Map<ByteString, Placed[]>>();

  constructor(private readonly cut: (text: ByteString, length: number) => ByteString) {}

  add(literal: ByteString, node: Placed): void {
    let literals = this.byLiteral.get(literal.length);
    if (literals === undefined) this.byLiteral.set(literal.length, (literals = new Map<ByteString, Placed[]>()));
    const nodes = literals.get(literal);
    if (nodes === undefined) literals.set(literal, [node]);
    else nodes.push(node);
  }

  /** The first that matches, unless `best` was declared before it. */
  find(entry: Entry, best: Placed | undefined): Placed | undefined {
    let found = best;
    for (const [length, literals] of this.byLiteral) {
      if (length > entry.value.length) continue;
      const nodes = literals.get(this.cut(entry.value, length));
      if (nodes !== undefined) found = firstOf(nodes, entry, found);
    }
    return found;
  }
}

/** The first of these, in their order, that matches, unless `best` was declared before it. */
function firstOf(nodes: readonly Placed[], { key, value }: Entry, best: Placed | undefined): Placed | undefined {
  for (const node of nodes) {
    if (best !== undefined && node.place > best.place) return best;
    if (matchesWildcard(node.key, key) && matchesWildcard(node.value, value)) return node;
  }
  return best;
}
