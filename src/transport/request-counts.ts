/** Counts what a request holds while it is still bytes: decoding first would make an object of each, millions of them. */

import { Reader } from 'protobufjs';
import { DESCRIPTORS_MAX } from '../descriptor/bounds';
import { checkDescriptorCount, checkEntryCount } from './request';

/** Field numbers, from proto/. */
const DESCRIPTORS_FIELD = 2;
const ENTRIES_FIELD = 1;

const LENGTH_DELIMITED = 2;

/**
 * @throws BadRequestError if there are too many descriptors or entries
 * @throws Error if the bytes are no message
 */
export function checkCounts(message: Uint8Array): void {
  const descriptors = scan(message, DESCRIPTORS_FIELD);
  checkDescriptorCount(descriptors.count);
  for (const [index, descriptor] of descriptors.first.entries()) {
    checkEntryCount(scan(descriptor, ENTRIES_FIELD).count, `descriptors[${index}]`);
  }
}

interface Scanned {
  readonly count: number;
  /** The first of them, as many as a request may have. */
  readonly first: readonly Uint8Array[];
}

/** The submessages of one field. */
function scan(message: Uint8Array, field: number): Scanned {
  const reader = Reader.create(message);
  const first: Uint8Array[] = [];
  let count = 0;
  while (reader.pos < reader.len) {
    const tag = reader.uint32();
    if (tag >>> 3 !== field) {
      reader.skipType(tag & 7);
    } else if ((tag & 7) !== LENGTH_DELIMITED) {
      // The decoder would not look: it takes the field for a submessage, whatever the wire type says.
      throw new Error(`field ${field} has wire type ${tag & 7}`);
    } else if (first.length < DESCRIPTORS_MAX) {
      first.push(reader.bytes());
      count += 1;
    } else {
      reader.skipType(LENGTH_DELIMITED);
      count += 1;
    }
  }
  return { count, first };
}
