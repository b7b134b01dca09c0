/** The id of a slot: how a request in flight is known in a bucket. */

import { createHash } from 'node:crypto';
import type { ByteString } from '../descriptor/descriptor';

/** Eight bytes of a hash, in hexadecimal digits: two requests of one bucket at once share one by chance never. */
const SLOT_ID_DIGITS = 16;

export function slotIdOf(value: ByteString): string {
  return createHash('sha256').update(value, 'latin1').digest('hex').slice(0, SLOT_ID_DIGITS);
}
