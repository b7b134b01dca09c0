/** Header fields as HPACK for a client that has its peer remember them: the first block of a connection, and every later one. */

import type { HeaderField } from '../../src/server/transport/http2/hpack/header-field';
import { STATIC_TABLE } from '../../src/server/transport/http2/hpack/hpack-static-table';

/** The first byte of a field that is in a table, of one that is to be remembered, and the most that fits beside each. */
const [INDEXED, INDEXED_MOST] = [0x80, 0x7e];
const [REMEMBERED, REMEMBERED_MOST] = [0x40, 0x3e];
const TEXT_BYTES_MOST = 0x7e;

export interface HeaderBlocks {
  readonly first: Buffer;
  readonly later: Buffer;
}

export function encodeHeaderBlocks(fields: readonly HeaderField[]): HeaderBlocks {
  const known = fields.map(({ name, value }) => 1 + STATIC_TABLE.findIndex((field) => field.name === name && field.value === value));
  const remembered = fields.filter((_, index) => known[index] === 0);
  // The one that came last stands first behind the static table.
  const indexOf = (field: HeaderField): number => STATIC_TABLE.length + remembered.length - remembered.indexOf(field);
  return {
    first: Buffer.concat(fields.map((field, index) => (known[index] === 0 ? remember(field) : indexed(known[index]!)))),
    later: Buffer.concat(fields.map((field, index) => indexed(known[index] === 0 ? indexOf(field) : known[index]!))),
  };
}

function indexed(index: number): Buffer {
  return Buffer.from([INDEXED | atMost(index, INDEXED_MOST)]);
}

function remember({ name, value }: HeaderField): Buffer {
  const nameIndex = 1 + STATIC_TABLE.findIndex((field) => field.name === name);
  const start = Buffer.from([REMEMBERED | atMost(nameIndex, REMEMBERED_MOST)]);
  return Buffer.concat(nameIndex === 0 ? [start, text(name), text(value)] : [start, text(value)]);
}

function text(value: string): Buffer {
  return Buffer.concat([Buffer.from([atMost(value.length, TEXT_BYTES_MOST)]), Buffer.from(value, 'latin1')]);
}

/** Larger numbers would take further bytes; no field here has one. */
function atMost(number: number, most: number): number {
  if (number > most) throw new Error(`${number} does not fit into one byte of HPACK beside its flags`);
  return number;
}
