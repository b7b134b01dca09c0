/** Text of a request as its metadata repeats it: valid Unicode, whatever the bytes were, and no more of it than a log line needs. */

import { toText } from '../descriptor/byte-string';
import type { ByteString } from '../descriptor/descriptor';

/** Bytes that are repeated of one text, and of all texts of a request. */
export const METADATA_TEXT_BYTES_MAX = 1024;
export const METADATA_BYTES_MAX = 32 * 1024;

/** Where a text was cut. */
const CUT = '…';

/** Of one answer. */
export class MetadataTexts {
  private bytesLeft = METADATA_BYTES_MAX;

  of(bytes: ByteString): string {
    const room = Math.min(METADATA_TEXT_BYTES_MAX, this.bytesLeft);
    this.bytesLeft -= Math.min(bytes.length, room);
    // A character that the cut goes through shows as U+FFFD.
    return bytes.length <= room ? toText(bytes) : `${toText(bytes.slice(0, room))}${CUT}`;
  }
}
