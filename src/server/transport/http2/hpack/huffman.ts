/** Huffman decoding of header texts (RFC 7541, appendix B), four bits at a time. */

import type { ByteString } from '../../../../domain/descriptor/descriptor';
import { ConnectionError, ErrorCode } from '../frames/errors';

/** Code length in bits of each byte. Codes are assigned by length, then by byte. */
const CODE_BITS: readonly number[] = [
  13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28, 6, 10, 10,
  12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10, 13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
  7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6, 15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, 6, 7, 6, 5, 5, 6, 7, 7, 7, 7,
  7, 15, 11, 14, 13, 28, 20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23, 24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22,
  23, 23, 24, 22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22,
  23, 26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, 19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27, 20,
  24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23, 26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26,
];

/** The end-of-string code is the last one. It may not be sent; its first bits pad the last byte. */
const END = 256;
const END_BITS = 30;

/** Maximum of padding bits in the last byte. */
const PADDING_BITS_MAX = 7;

/** Each state is a node in the tree of codes; 4 bits lead to the next state and complete at most one byte. */
const NIBBLES = 16;
const SYMBOL_SHIFT = 8;
const EMITS = 1 << 16;
const INVALID = -1;

const ROOT = 0;
const MISSING = -1;

const { transitions, accepting } = makeTables();

let scratch = Buffer.allocUnsafeSlow(256);

/** @throws ConnectionError if the bytes are not valid Huffman code */
export function decodeHuffman(bytes: Buffer, start: number, end: number): ByteString {
  // The shortest code has 5 bits.
  const longest = Math.ceil(((end - start) * 8) / 5);
  if (longest > scratch.length) scratch = Buffer.allocUnsafeSlow(longest * 2);
  let state = ROOT;
  let length = 0;
  for (let position = start; position < end; position++) {
    const byte = bytes[position] ?? 0;
    for (let shift = 4; shift >= 0; shift -= 4) {
      const transition = transitions[state * NIBBLES + ((byte >>> shift) & 0xf)] ?? INVALID;
      if (transition === INVALID) throw new ConnectionError(ErrorCode.COMPRESSION_ERROR, 'a header text is not valid Huffman code');
      if (transition & EMITS) scratch[length++] = (transition >>> SYMBOL_SHIFT) & 0xff;
      state = transition & 0xff;
    }
  }
  if (accepting[state] !== 1) throw new ConnectionError(ErrorCode.COMPRESSION_ERROR, 'a header text has invalid padding');
  return scratch.toString('latin1', 0, length);
}

/** Two children of each inner node: a node, or a symbol as `-2 - symbol`. */
type Tree = number[];

function makeTree(): Tree {
  const bits = [...CODE_BITS, END_BITS];
  const symbols = bits.map((_length, symbol) => symbol).sort((a, b) => (bits[a] ?? 0) - (bits[b] ?? 0) || a - b);
  const tree: Tree = [MISSING, MISSING];
  let code = 0;
  let length = 0;
  for (const symbol of symbols) {
    const symbolBits = bits[symbol] ?? 0;
    code *= 2 ** (symbolBits - length);
    length = symbolBits;
    insert(tree, { code, length, symbol });
    code += 1;
  }
  return tree;
}

function insert(tree: Tree, { code, length, symbol }: { code: number; length: number; symbol: number }): void {
  let node = ROOT;
  for (let bit = length - 1; bit > 0; bit--) {
    const slot = node * 2 + ((code >>> bit) & 1);
    let next = tree[slot] ?? MISSING;
    if (next === MISSING) {
      next = tree.length / 2;
      tree[slot] = next;
      tree.push(MISSING, MISSING);
    }
    node = next;
  }
  tree[node * 2 + (code & 1)] = -2 - symbol;
}

function makeTables(): { transitions: Int32Array; accepting: Uint8Array } {
  const tree = makeTree();
  const states = tree.length / 2;
  const table = new Int32Array(states * NIBBLES).fill(INVALID);
  for (let state = 0; state < states; state++) {
    for (let nibble = 0; nibble < NIBBLES; nibble++) table[state * NIBBLES + nibble] = follow(tree, state, nibble);
  }
  const accepts = new Uint8Array(states);
  // Padding is the start of the end-of-string code, which is all ones.
  for (let bit = 0, state = ROOT; bit <= PADDING_BITS_MAX; bit++) {
    accepts[state] = 1;
    state = tree[state * 2 + 1] ?? ROOT;
  }
  return { transitions: table, accepting: accepts };
}

function follow(tree: Tree, state: number, nibble: number): number {
  let node = state;
  let emitted = 0;
  for (let bit = 3; bit >= 0; bit--) {
    const next = tree[node * 2 + ((nibble >>> bit) & 1)] ?? MISSING;
    if (next >= 0) {
      node = next;
      continue;
    }
    const symbol = -2 - next;
    if (symbol === END) return INVALID;
    emitted = EMITS | (symbol << SYMBOL_SHIFT);
    node = ROOT;
  }
  return emitted | node;
}
