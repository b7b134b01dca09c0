/** Finds the address ranges of a level: for each length of prefix, longest first, one lookup. */

import { masked, parseClient, type Address, type Network } from '../../lib/address';
import type { ByteString, Entry } from './descriptor';

export interface NetworkNode<Node> {
  readonly key: ByteString;
  readonly network: Network;
  readonly node: Node;
}

export class NetworkIndex<Node> {
  private readonly byKey = new Map<ByteString, KeyNetworks<Node>>();
  private readonly all: NetworkNode<Node>[] = [];

  add(added: NetworkNode<Node>): void {
    this.all.push(added);
    let networks = this.byKey.get(added.key);
    if (networks === undefined) this.byKey.set(added.key, (networks = new KeyNetworks<Node>()));
    networks.add(added);
  }

  /** All nodes, in the order of declaration. */
  get nodes(): readonly NetworkNode<Node>[] {
    return this.all;
  }

  /** The node with the longest prefix that includes the address of the entry. */
  find({ key, value }: Entry): Node | undefined {
    const networks = this.byKey.get(key);
    if (networks === undefined) return undefined;
    const client = parseClient(value);
    return client && networks.find(client);
  }
}

/** Networks of one length. */
interface PrefixLength<Node> {
  readonly bits: number;
  readonly byHash: Map<number, NetworkNode<Node>[]>;
}

class KeyNetworks<Node> {
  /** By the number of words of an address; longest prefix first. */
  private readonly lengths = new Map<number, PrefixLength<Node>[]>();

  add(added: NetworkNode<Node>): void {
    const { words, bits } = added.network;
    const lengths = this.lengths.get(words.length) ?? [];
    this.lengths.set(words.length, lengths);
    let length = lengths.find((each) => each.bits === bits);
    if (length === undefined) {
      length = { bits, byHash: new Map() };
      lengths.push(length);
      lengths.sort((one, other) => other.bits - one.bits);
    }
    const hash = hashOf(words);
    const nodes = length.byHash.get(hash);
    if (nodes === undefined) length.byHash.set(hash, [added]);
    else nodes.push(added);
  }

  find({ words, bits: known }: Network): Node | undefined {
    for (const { bits, byHash } of this.lengths.get(words.length) ?? []) {
      // A value that is a network itself matches only ranges that include all of it.
      if (bits > known) continue;
      const start = masked(words, bits);
      const found = byHash.get(hashOf(start))?.find(({ network }) => isSame(network.words, start));
      if (found !== undefined) return found.node;
    }
    return undefined;
  }
}

function hashOf(words: Address): number {
  let hash = 0;
  for (const word of words) hash = (Math.imul(hash, 31) + word) | 0;
  return hash;
}

function isSame(one: Address, other: Address): boolean {
  return one.every((word, index) => word === other[index]);
}
