/** From header fields to a header block: one that asks the peer to remember nothing, and may be sent at any time, or one that counts on its memory. */

import type { HeaderField } from './header-field';
import { STATIC_TABLE } from './hpack-static-table';

/** By name: the first index that has it; by name and value: that one. */
const NAME_INDEX = new Map<string, number>();
const FIELD_INDEX = new Map<string, number>();
for (const [position, { name, value }] of STATIC_TABLE.entries()) {
  if (!NAME_INDEX.has(name)) NAME_INDEX.set(name, position + 1);
  FIELD_INDEX.set(`${name}\0${value}`, position + 1);
}

/** How a literal begins (RFC 7541, 6.2): one that the peer is to keep in its dynamic table, and one that it is not. */
const KEPT = { prefixBits: 6, firstBits: 0x40 };
const NOT_KEPT = { prefixBits: 4, firstBits: 0x00 };
const INDEXED = { prefixBits: 7, firstBits: 0x80 };

export function encodeHeaderBlock(fields: readonly HeaderField[]): Buffer {
  return Buffer.concat(fields.map((field) => encodeStatic(field) ?? encodeLiteral(field, NOT_KEPT)));
}

/** A block after which the peer's table has those of `fields` that `isTellable`, behind what it had. */
export function encodeTellingBlock(fields: readonly HeaderField[]): Buffer {
  return Buffer.concat(fields.map((field) => encodeStatic(field) ?? encodeLiteral(field, KEPT)));
}

/** A block that says of what was `told` only where the peer's table has it; `told` is that table, the oldest first. */
export function encodeToldBlock(fields: readonly HeaderField[], told: readonly HeaderField[]): Buffer {
  return Buffer.concat(fields.map((field) => encodeStatic(field) ?? integer(toldIndex(field, told), INDEXED)));
}

/** Whether the static table has a field not, so that a peer can be told to remember it. */
export function isTellable(field: HeaderField): boolean {
  return staticIndex(field) === undefined;
}

function toldIndex(field: HeaderField, told: readonly HeaderField[]): number {
  const position = told.indexOf(field);
  if (position < 0) throw new Error(`The peer was never told ${field.name}.`);
  return STATIC_TABLE.length + told.length - position;
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
