/** Finds the wildcards of a level by their literal parts: thousands cost little more than ten. */

import type { ByteString, Entry } from './descriptor';
import { matchesWildcard, type Wildcard } from './wildcard';

export interface WildcardNode<Node> {
  readonly key: Wildcard;
  readonly value: Wildcard;
  readonly node: Node;
}

/** A node with its position in the level. */
interface Placed<Node> extends WildcardNode<Node> {
  readonly place: number;
}

/**
 * Nodes whose key has no star are stored by key, then by the longer one of their value's literal beginning and end. Only nodes
 * with an equal literal part, and those whose key has a star, are compared one by one.
 */
export class WildcardIndex<Node> {
  private readonly placed: Placed<Node>[] = [];
  private readonly byKey = new Map<ByteString, ValueIndex<Node>>();
  private readonly starredKeys: Placed<Node>[] = [];

  /** `nodes`: in the order of declaration. */
  constructor(nodes: Iterable<WildcardNode<Node>> = []) {
    for (const node of nodes) this.add(node);
  }

  add(node: WildcardNode<Node>): void {
    const placed = { place: this.placed.length, ...node };
    this.placed.push(placed);
    if (node.key.suffix !== undefined) {
      this.starredKeys.push(placed);
      return;
    }
    let values = this.byKey.get(node.key.prefix);
    if (values === undefined) this.byKey.set(node.key.prefix, (values = new ValueIndex<Node>()));
    values.add(placed);
  }

  /** All nodes, in the order of declaration. */
  get nodes(): readonly WildcardNode<Node>[] {
    return this.placed;
  }

  /** The first declared node that matches. */
  find(entry: Entry): Node | undefined {
    if (this.placed.length === 0) return undefined;
    const found = this.byKey.get(entry.key)?.find(entry);
    return firstOf(this.starredKeys, entry, found)?.node;
  }
}

/** Nodes of one key, by the literal beginning or end of their values. */
class ValueIndex<Node> {
  private readonly byPrefix = new LiteralIndex<Node>((text, length) => text.slice(0, length));
  private readonly bySuffix = new LiteralIndex<Node>((text, length) => text.slice(text.length - length));

  add(node: Placed<Node>): void {
    const { prefix, suffix = '' } = node.value;
    if (suffix.length > prefix.length) this.bySuffix.add(suffix, node);
    else this.byPrefix.add(prefix, node);
  }

  find(entry: Entry): Placed<Node> | undefined {
    return this.bySuffix.find(entry, this.byPrefix.find(entry, undefined));
  }
}

/** Nodes by a literal part of the value; each length of literals takes one lookup. */
class LiteralIndex<Node> {
  private readonly byLiteral = new Map<number, Map<ByteString, Placed<Node>[]>>();

  constructor(private readonly cut: (text: ByteString, length: number) => ByteString) {}

  add(literal: ByteString, node: Placed<Node>): void {
    let literals = this.byLiteral.get(literal.length);
    if (literals === undefined) this.byLiteral.set(literal.length, (literals = new Map<ByteString, Placed<Node>[]>()));
    const nodes = literals.get(literal);
    if (nodes === undefined) literals.set(literal, [node]);
    else nodes.push(node);
  }

  /** The first node that matches, unless `best` was declared before it. */
  find(entry: Entry, best: Placed<Node> | undefined): Placed<Node> | undefined {
    let found = best;
    for (const [length, literals] of this.byLiteral) {
      if (length > entry.value.length) continue;
      const nodes = literals.get(this.cut(entry.value, length));
      if (nodes !== undefined) found = firstOf(nodes, entry, found);
    }
    return found;
  }
}

/** The first of these nodes that matches, unless `best` was declared before it. */
function firstOf<Node>(nodes: readonly Placed<Node>[], { key, value }: Entry, best: Placed<Node> | undefined): Placed<Node> | undefined {
  for (const node of nodes) {
    if (best !== undefined && node.place > best.place) return best;
    if (matchesWildcard(node.key, key) && matchesWildcard(node.value, value)) return node;
  }
  return best;
}
