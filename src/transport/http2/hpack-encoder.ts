/** From header fields to a header block that asks the peer to remember nothing, so that it may be made once and sent for ever. */

import type { HeaderField } from './header-field';
import { STATIC_TABLE } from './hpack-static-table';

/** By name: the first index that has it; by name and value: that one. */
const NAME_INDEX = new Map<string, number>();
const FIELD_INDEX = new Map<string, number>();
for (const [position, { name, value }] of STATIC_TABLE.entries()) {
  if (!NAME_INDEX.has(name)) NAME_INDEX.set(name, position + 1);
  FIELD_INDEX.set(`${name}\0${value}`, position + 1);
}

export function encodeHeaderBlock(fields: readonly HeaderField[]): Buffer {
  return Buffer.concat(fields.map(encodeField));
}

function encodeField({ name, value }: HeaderField): Buffer {
  const index = FIELD_INDEX.get(`${name}\0${value}`);
  if (index !== undefined) return integer(index, { prefixBits: 7, firstBits: 0x80 });
  const nameIndex = NAME_INDEX.get(name) ?? 0;
  const literal = integer(nameIndex, { prefixBits: 4, firstBits: 0x00 });
  return Buffer.concat(nameIndex === 0 ? [literal, text(name), text(value)] : [literal, text(value)]);
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value, 'latin1');
  return Buffer.concat([integer(bytes.length, { prefixBits: 7, firstBits: 0x00 }), bytes]);
}

function integer(value: number, { prefixBits, firstBits }: { readonly prefixBits: number; readonly firstBits: number }): Buffer {
  const prefix = (1 << prefixBits) - 1;
  if (value < prefix) return Buffer.from([firstBits | value]);
  const bytes = [firstBits | prefix];
  let rest = value - prefix;
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes.push((rest % 0x80) | 0x80);
  return Buffer.from([...bytes, rest]);
}
