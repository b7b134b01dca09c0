/** One header field: its name and its value, one character per byte. */

import type { ByteString } from '../../descriptor/descriptor';

export interface HeaderField {
  readonly name: ByteString;
  readonly value: ByteString;
}

/** What a field counts in a table or a list, beyond its bytes (RFC 7541, 4.1). */
const FIELD_OVERHEAD = 32;

export function fieldSize({ name, value }: HeaderField): number {
  return name.length + value.length + FIELD_OVERHEAD;
}
