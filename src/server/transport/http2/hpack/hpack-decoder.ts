/** Decodes header blocks to header fields (RFC 7541): one decoder for each connection, because blocks build on each other. */

import type { ByteString } from '../../../../domain/descriptor/descriptor';
import { ConnectionError, ErrorCode } from '../frames/errors';
import { fieldSize, type HeaderField } from './header-field';
import { HpackDynamicTable, TABLE_SIZE_MAX } from './hpack-dynamic-table';
import { STATIC_TABLE } from './hpack-static-table';
import { decodeHuffman } from './huffman';

/** Maximum size of a header list, counted with 32 bytes per field; announced in SETTINGS. */
export const HEADER_LIST_BYTES_MAX = 32 * 1024;

/** Maximum of fields in a list. */
export const HEADER_FIELDS_MAX = 128;

/** No valid index, length or size is near this; a larger number is an attack. */
const INTEGER_MAX = 2 ** 28;
const INTEGER_BYTES_MAX = 6;

export interface HeaderList {
  readonly fields: readonly HeaderField[];
  /** The list exceeds a bound, and `fields` is incomplete. */
  readonly tooLarge: boolean;
}

export class HpackDecoder {
  private readonly table = new HpackDynamicTable();
  private block: Buffer = Buffer.alloc(0);
  private position = 0;
  private end = 0;

  /** A decoded block keeps its meaning while this is unchanged. */
  get generation(): number {
    return this.table.generation;
  }

  /**
   * Decodes the whole block, even beyond the bounds, because later blocks build on it.
   *
   * @throws ConnectionError for an invalid block
   */
  decode(block: Buffer, start = 0, end = block.length): HeaderList {
    this.block = block;
    this.position = start;
    this.end = end;
    const fields: HeaderField[] = [];
    let size = 0;
    let tooLarge = false;
    this.resizeTable();
    while (this.position < this.end) {
      const field = this.field();
      size += fieldSize(field);
      if (size > HEADER_LIST_BYTES_MAX || fields.length >= HEADER_FIELDS_MAX) tooLarge = true;
      else fields.push(field);
    }
    return { fields, tooLarge };
  }

  /** Changes of the table size may come only before the first field. */
  private resizeTable(): void {
    while (this.position < this.end && ((this.block[this.position] ?? 0) & 0xe0) === 0x20) {
      const size = this.integer(5);
      if (size > TABLE_SIZE_MAX) throw broken('a table larger than allowed');
      this.table.resize(size);
    }
  }

  private field(): HeaderField {
    const first = this.block[this.position] ?? 0;
    if (first & 0x80) return this.indexed(this.integer(7));
    if (first & 0x40) {
      const field = this.literal(6);
      this.table.add(field);
      return field;
    }
    if (first & 0x20) throw broken('a new table size between fields');
    // Without indexing and never indexed differ only for proxies.
    return this.literal(4);
  }

  private indexed(index: number): HeaderField {
    const field = index <= STATIC_TABLE.length ? STATIC_TABLE[index - 1] : this.table.get(index - STATIC_TABLE.length - 1);
    if (field === undefined) throw broken('an index without a field');
    return field;
  }

  private literal(prefixBits: number): HeaderField {
    const index = this.integer(prefixBits);
    const name = index === 0 ? this.text() : this.indexed(index).name;
    return { name, value: this.text() };
  }

  private text(): ByteString {
    if (this.position >= this.end) throw broken('it ends early');
    const isHuffman = ((this.block[this.position] ?? 0) & 0x80) !== 0;
    const length = this.integer(7);
    const start = this.position;
    if (length > this.end - start) throw broken('it ends early');
    this.position = start + length;
    return isHuffman ? decodeHuffman(this.block, start, this.position) : this.block.toString('latin1', start, this.position);
  }

  private integer(prefixBits: number): number {
    const prefix = (1 << prefixBits) - 1;
    const first = (this.block[this.position++] ?? 0) & prefix;
    if (first < prefix) return first;
    let value = prefix;
    for (let index = 0; index < INTEGER_BYTES_MAX; index++) {
      if (this.position >= this.end) throw broken('it ends early');
      const byte = this.block[this.position++] ?? 0;
      value += (byte & 0x7f) * 2 ** (7 * index);
      if (value > INTEGER_MAX) break;
      if (byte < 0x80) return value;
    }
    throw broken('a number that is too large');
  }
}

function broken(what: string): ConnectionError {
  return new ConnectionError(ErrorCode.COMPRESSION_ERROR, `invalid header block: ${what}`);
}
