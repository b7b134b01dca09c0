/** Writes a document as a tape, node by node in the order of the text. */

import type { ConfigNode } from './config-node';
import { HEAD_LENGTH, MARKS, type DocumentTape } from './document-tape';

/** Texts that are stored once: names of keys and units repeat in a long document, and few others do. */
const KNOWN_TEXTS_MAX = 4096;
const KNOWN_LENGTH_MAX = 32;

/** An unfinished list or map. */
interface Open {
  readonly start: number;
  count: number;
  size: number;
}

export class TapeWriter {
  private numbers = new Int32Array(1024);
  private length = 0;
  private places = new Int32Array(256);
  private textCount = 0;
  private bytes = Buffer.alloc(4096);
  private bytesLength = 0;
  private readonly known = new Map<string, number>();
  private readonly open: Open[] = [];

  /** Start of the next node. */
  get position(): number {
    return this.length;
  }

  scalar(text: string, { plain, offset }: { readonly plain: boolean; readonly offset: number }): void {
    const id = this.text(text);
    this.room(3);
    const { numbers, length } = this;
    numbers[length] = plain ? MARKS.plain : MARKS.quoted;
    numbers[length + 1] = offset;
    numbers[length + 2] = id;
    this.length = length + 3;
    this.count(1);
  }

  begin(kind: 'list' | 'map', offset: number): void {
    this.room(HEAD_LENGTH);
    this.open.push({ start: this.length, count: 0, size: 1 });
    this.numbers[this.length] = MARKS[kind];
    this.numbers[this.length + 1] = offset;
    this.length += HEAD_LENGTH;
  }

  /** Key of a map field; the next node is its value. */
  key(text: string, keyOffset: number): void {
    const id = this.text(text);
    this.room(2);
    this.numbers[this.length] = keyOffset;
    this.numbers[this.length + 1] = id;
    this.length += 2;
  }

  /** Ends the list or the map that was begun last. */
  end(): void {
    const ended = this.open.pop();
    if (ended === undefined) return;
    const { start, count, size } = ended;
    this.numbers[start + 2] = count;
    this.numbers[start + 3] = this.length;
    this.numbers[start + 4] = size;
    this.count(size);
  }

  /** Repeats the node at `target`, which has `size` nodes. */
  alias(target: number, size: number): void {
    this.room(2);
    this.numbers[this.length] = MARKS.alias;
    this.numbers[this.length + 1] = target;
    this.length += 2;
    this.count(size);
  }

  finish(): DocumentTape {
    const { numbers, length, places, textCount, bytes, bytesLength } = this;
    // Copies, so that no unused room is transferred.
    return {
      numbers: numbers.slice(0, length),
      places: places.slice(0, 2 * textCount),
      bytes: new Uint8Array(bytes.subarray(0, bytesLength)),
    };
  }

  private count(size: number): void {
    const parent = this.open.at(-1);
    if (parent === undefined) return;
    parent.count += 1;
    parent.size += size;
  }

  private text(text: string): number {
    const isShort = text.length <= KNOWN_LENGTH_MAX;
    const known = isShort ? this.known.get(text) : undefined;
    if (known !== undefined) return known;
    const id = this.textCount;
    this.textCount += 1;
    if (isShort && this.known.size < KNOWN_TEXTS_MAX) this.known.set(text, id);
    if (2 * id + 2 > this.places.length) this.places = grown(this.places);
    const isWide = /[^\0-\xff]/.test(text);
    const byteLength = isWide ? 2 * text.length : text.length;
    while (this.bytesLength + byteLength > this.bytes.length) this.bytes = Buffer.concat([this.bytes], 2 * this.bytes.length);
    this.places[2 * id] = this.bytesLength;
    this.places[2 * id + 1] = isWide ? -text.length : text.length;
    this.bytes.write(text, this.bytesLength, isWide ? 'utf16le' : 'latin1');
    this.bytesLength += byteLength;
    return id;
  }

  private room(count: number): void {
    if (this.length + count > this.numbers.length) this.numbers = grown(this.numbers);
  }
}

function grown(numbers: Int32Array): Int32Array<ArrayBuffer> {
  const larger = new Int32Array(2 * numbers.length);
  larger.set(numbers);
  return larger;
}

/** Converts a tree to a tape. */
export function tapeOf(root: ConfigNode): DocumentTape {
  const writer = new TapeWriter();
  writeTree(writer, root);
  return writer.finish();
}

/** Nodes behind aliases are the nodes of their anchors, so each is written once. */
function writeTree(writer: TapeWriter, root: ConfigNode): void {
  const written = new Map<ConfigNode, number>();
  const write = (node: ConfigNode): void => {
    if (node.kind === 'scalar') {
      writer.scalar(node.text, node);
      return;
    }
    const target = written.get(node);
    if (target !== undefined) {
      writer.alias(target, node.size);
      return;
    }
    const start = writer.position;
    writer.begin(node.kind, node.offset);
    if (node.kind === 'list') {
      for (const item of node.items) write(item);
    } else {
      for (const [key, { keyOffset, value }] of node.fields) {
        writer.key(key, keyOffset);
        write(value);
      }
    }
    writer.end();
    written.set(node, start);
  };
  write(root);
}
