/** A document as numbers and bytes: another thread transfers it without a copy, whatever its size, and nodes are made when they are read. */

import type { ConfigNode, ListNode, MapField, MapNode } from './config-node';

export interface DocumentTape {
  /**
   * Nodes in the order of the text, the root first. A scalar is its mark, offset and text; a list its mark, offset, number of items, end and size,
   * then the items. A map is like a list, with the offset and the text of the key before each value. An alias is its mark and the start of its node.
   * An end is the start of the next node.
   */
  readonly numbers: Int32Array;
  /** For each text the start of its bytes and its length in characters, negative if each takes two bytes. */
  readonly places: Int32Array;
  readonly bytes: Uint8Array;
}

export const MARKS = { plain: 0, quoted: 1, list: 2, map: 3, alias: 4 } as const;

/** Length of a scalar, and of the head of a list or a map. */
export const SCALAR_LENGTH = 3;
export const HEAD_LENGTH = 5;

/** Number of texts to keep as strings: names of keys are among the first, and repeat. */
const KEPT_TEXTS = 256;

/** The root. Nodes below it are made on access, and the items of a list again on each iteration. */
export function rootOf(tape: DocumentTape): ConfigNode {
  return new TapeReader(tape).nodeAt(0);
}

class TapeReader {
  private readonly numbers: Int32Array;
  private readonly bytes: Buffer;
  private readonly kept: (string | undefined)[] = [];

  constructor(private readonly tape: DocumentTape) {
    this.numbers = tape.numbers;
    const { buffer, byteOffset, byteLength } = tape.bytes;
    this.bytes = Buffer.from(buffer, byteOffset, byteLength);
  }

  nodeAt(start: number): ConfigNode {
    const mark = this.at(start);
    if (mark === MARKS.alias) return this.nodeAt(this.at(start + 1));
    if (mark === MARKS.list) return new TapeList(this, start);
    if (mark === MARKS.map) return new TapeMap(this, start);
    return { kind: 'scalar', text: this.textAt(this.at(start + 2)), plain: mark === MARKS.plain, offset: this.at(start + 1), size: 1 };
  }

  /** Start of the node after this one. */
  endOf(start: number): number {
    const mark = this.at(start);
    if (mark === MARKS.alias) return start + 2;
    return mark === MARKS.list || mark === MARKS.map ? this.at(start + 3) : start + SCALAR_LENGTH;
  }

  at(index: number): number {
    return this.numbers[index] ?? 0;
  }

  textAt(id: number): string {
    const kept = this.kept[id];
    if (kept !== undefined) return kept;
    const { places } = this.tape;
    const begin = places[2 * id] ?? 0;
    const length = places[2 * id + 1] ?? 0;
    const text =
      length < 0 ? this.bytes.toString('utf16le', begin, begin - 2 * length) : this.bytes.toString('latin1', begin, begin + length);
    if (id < KEPT_TEXTS) this.kept[id] = text;
    return text;
  }
}

class TapeList implements ListNode {
  readonly kind = 'list';
  readonly offset: number;
  readonly size: number;
  readonly length: number;

  constructor(
    private readonly reader: TapeReader,
    private readonly start: number,
  ) {
    this.offset = reader.at(start + 1);
    this.length = reader.at(start + 2);
    this.size = reader.at(start + 4);
  }

  get items(): Iterable<ConfigNode> {
    return itemsOf(this.reader, { start: this.start, count: this.length });
  }
}

function* itemsOf(reader: TapeReader, { start, count }: { readonly start: number; readonly count: number }): Generator<ConfigNode> {
  let next = start + HEAD_LENGTH;
  for (let i = 0; i < count; i += 1) {
    yield reader.nodeAt(next);
    next = reader.endOf(next);
  }
}

class TapeMap implements MapNode {
  readonly kind = 'map';
  readonly offset: number;
  readonly size: number;
  private made: ReadonlyMap<string, MapField> | undefined;

  constructor(
    private readonly reader: TapeReader,
    private readonly start: number,
  ) {
    this.offset = reader.at(start + 1);
    this.size = reader.at(start + 4);
  }

  get fields(): ReadonlyMap<string, MapField> {
    return (this.made ??= this.makeFields());
  }

  private makeFields(): ReadonlyMap<string, MapField> {
    const { reader, start } = this;
    const fields = new Map<string, MapField>();
    let next = start + HEAD_LENGTH;
    for (let i = reader.at(start + 2); i > 0; i -= 1) {
      const value = next + 2;
      fields.set(reader.textAt(reader.at(next + 1)), { keyOffset: reader.at(next), value: reader.nodeAt(value) });
      next = reader.endOf(value);
    }
    return fields;
  }
}
