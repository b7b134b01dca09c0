/** The id of a slot, which identifies a request in flight within its bucket. */

import { createHash } from 'node:crypto';
import type { ByteString } from '../descriptor/descriptor';

/** Eight bytes of a hash, in hexadecimal digits: collisions within a bucket are practically impossible. */
const SLOT_ID_DIGITS = 16;

export function slotIdOf(value: ByteString): string {
  return createHash('sha256').update(value, 'latin1').digest('hex').slice(0, SLOT_ID_DIGITS);
}
