/** Texts of a request for its metadata: valid Unicode whatever the bytes, and shortened. */

import { toText } from '../descriptor/byte-string';
import type { ByteString } from '../descriptor/descriptor';

/** Most bytes of one text, and of all texts of a request. */
export const METADATA_TEXT_BYTES_MAX = 1024;
export const METADATA_BYTES_MAX = 32 * 1024;

/** Marks a shortened text. */
const CUT = '…';

/** The texts of one answer. */
export class MetadataTexts {
  private bytesLeft = METADATA_BYTES_MAX;

  of(bytes: ByteString): string {
    const room = Math.min(METADATA_TEXT_BYTES_MAX, this.bytesLeft);
    this.bytesLeft -= Math.min(bytes.length, room);
    // A character that is cut in the middle becomes U+FFFD.
    return bytes.length <= room ? toText(bytes) : `${toText(bytes.slice(0, room))}${CUT}`;
  }
}
