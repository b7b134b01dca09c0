/** Header blocks as real clients write them: fields that the peer is to remember, and indices of those it remembers. */

import { fieldSize, type HeaderField } from '../../src/server/transport/http2/hpack/header-field';
import { TABLE_SIZE_MAX } from '../../src/server/transport/http2/hpack/hpack-dynamic-table';
import { STATIC_TABLE } from '../../src/server/transport/http2/hpack/hpack-static-table';
import type { Random } from '../support/random/random';

export class HpackWriter {
  /** Newest first, as the peer has them. */
  private readonly table: HeaderField[] = [];
  private size = 0;
  private maxSize = TABLE_SIZE_MAX;

  constructor(private readonly random: Random) {}

  block(fields: readonly HeaderField[]): Buffer {
    const parts = fields.map((field) => this.field(field));
    return Buffer.concat(parts);
  }

  /** A block that begins with another size of the table. */
  resizedBlock(fields: readonly HeaderField[]): Buffer {
    this.maxSize = this.random(2) === 0 ? TABLE_SIZE_MAX : this.random(TABLE_SIZE_MAX + 1);
    this.evict();
    return Buffer.concat([integer(this.maxSize, { prefixBits: 5, firstBits: 0x20 }), this.block(fields)]);
  }

  private field(field: HeaderField): Buffer {
    const at = this.table.findIndex(({ name, value }) => name === field.name && value === field.value);
    if (at >= 0) return integer(STATIC_TABLE.length + 1 + at, { prefixBits: 7, firstBits: 0x80 });
    // With a memory, mostly; without; and never.
    const way = this.random(8);
    if (way > 1) return this.remembered(field);
    return Buffer.concat([Buffer.from([way << 4]), text(field.name), text(field.value)]);
  }

  private remembered(field: HeaderField): Buffer {
    this.table.unshift(field);
    this.size += fieldSize(field);
    this.evict();
    return Buffer.concat([Buffer.from([0x40]), text(field.name), text(field.value)]);
  }

  private evict(): void {
    while (this.size > this.maxSize) this.size -= fieldSize(this.table.pop()!);
  }
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value, 'latin1');
  return Buffer.concat([integer(bytes.length, { prefixBits: 7, firstBits: 0 }), bytes]);
}

function integer(value: number, { prefixBits, firstBits }: { readonly prefixBits: number; readonly firstBits: number }): Buffer {
  const prefix = (1 << prefixBits) - 1;
  if (value < prefix) return Buffer.from([firstBits | value]);
  const bytes = [firstBits | prefix];
  let rest = value - prefix;
  for (; rest >= 0x80; rest >>>= 7) bytes.push((rest & 0x7f) | 0x80);
  return Buffer.from([...bytes, rest]);
}
