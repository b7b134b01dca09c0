/** A header field: its name and value as byte strings. */

import type { ByteString } from '../../../../domain/descriptor/descriptor';

export interface HeaderField {
  readonly name: ByteString;
  readonly value: ByteString;
}

/** Counted for each field in a table or list, in addition to its bytes (RFC 7541, 4.1). */
const FIELD_OVERHEAD = 32;

export function fieldSize({ name, value }: HeaderField): number {
  return name.length + value.length + FIELD_OVERHEAD;
}
