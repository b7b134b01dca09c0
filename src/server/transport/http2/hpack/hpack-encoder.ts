/** Encodes header fields to header blocks: without the dynamic table, with incremental indexing, or by indexes of the dynamic table. */

import type { HeaderField } from './header-field';
import { STATIC_TABLE } from './hpack-static-table';

/** By name: the first index with that name. By name and value: the index of the field. */
const NAME_INDEX = new Map<string, number>();
const FIELD_INDEX = new Map<string, number>();
for (const [position, { name, value }] of STATIC_TABLE.entries()) {
  if (!NAME_INDEX.has(name)) NAME_INDEX.set(name, position + 1);
  FIELD_INDEX.set(`${name}\0${value}`, position + 1);
}

/** How a literal begins (RFC 7541, 6.2): with incremental indexing, and without. */
const INDEXING = { prefixBits: 6, firstBits: 0x40 };
const NOT_INDEXED = { prefixBits: 4, firstBits: 0x00 };
const INDEXED = { prefixBits: 7, firstBits: 0x80 };

export function encodeHeaderBlock(fields: readonly HeaderField[]): Buffer {
  return Buffer.concat(fields.map((field) => encodeStatic(field) ?? encodeLiteral(field, NOT_INDEXED)));
}

/** A block that adds those of `fields` to the dynamic table that are `isIndexable`. */
export function encodeIndexingBlock(fields: readonly HeaderField[]): Buffer {
  return Buffer.concat(fields.map((field) => encodeStatic(field) ?? encodeLiteral(field, INDEXING)));
}

/** A block that refers to indexed fields; `indexed` is the dynamic table, oldest first. */
export function encodeIndexedBlock(fields: readonly HeaderField[], indexed: readonly HeaderField[]): Buffer {
  return Buffer.concat(fields.map((field) => encodeStatic(field) ?? integer(dynamicIndex(field, indexed), INDEXED)));
}

/** Whether the static table lacks the field, so that indexing it helps. */
export function isIndexable(field: HeaderField): boolean {
  return staticIndex(field) === undefined;
}

function dynamicIndex(field: HeaderField, indexed: readonly HeaderField[]): number {
  const position = indexed.indexOf(field);
  if (position < 0) throw new Error(`the header ${field.name} is not in the dynamic table of the peer`);
  return STATIC_TABLE.length + indexed.length - position;
}

function staticIndex({ name, value }: HeaderField): number | undefined {
  return FIELD_INDEX.get(`${name}\0${value}`);
}

function encodeStatic(field: HeaderField): Buffer | undefined {
  const index = staticIndex(field);
  return index === undefined ? undefined : integer(index, INDEXED);
}

function encodeLiteral({ name, value }: HeaderField, form: IntegerForm): Buffer {
  const nameIndex = NAME_INDEX.get(name) ?? 0;
  const begin = integer(nameIndex, form);
  return Buffer.concat(nameIndex === 0 ? [begin, text(name), text(value)] : [begin, text(value)]);
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value, 'latin1');
  return Buffer.concat([integer(bytes.length, { prefixBits: 7, firstBits: 0x00 }), bytes]);
}

interface IntegerForm {
  readonly prefixBits: number;
  readonly firstBits: number;
}

function integer(value: number, { prefixBits, firstBits }: IntegerForm): Buffer {
  const prefix = (1 << prefixBits) - 1;
  if (value < prefix) return Buffer.from([firstBits | value]);
  const bytes = [firstBits | prefix];
  let rest = value - prefix;
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes.push((rest % 0x80) | 0x80);
  return Buffer.from([...bytes, rest]);
}
