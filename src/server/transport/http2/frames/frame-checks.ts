/** Checks common to several frame types: length and padding. */

import { ConnectionError, ErrorCode } from './errors';
import { Flag, type Frame } from './frames';

/**
 * Removes the padding.
 *
 * @throws ConnectionError if the padding exceeds the frame
 */
export function unpad(frame: Frame): void {
  const { flags, bytes, start, end } = frame;
  if ((flags & Flag.PADDED) === 0) return;
  const padding = bytes[start] ?? 0;
  if (start >= end || padding >= end - start) throw protocolError('the padding exceeds the frame');
  frame.start = start + 1;
  frame.end = end - padding;
}

/** @throws ConnectionError if the length is wrong for the frame type */
export function checkLength({ start, end }: Frame, isRight: (length: number) => boolean): void {
  if (!isRight(end - start))
    throw new ConnectionError(ErrorCode.FRAME_SIZE_ERROR, `a frame of ${end - start} bytes, which is a wrong length for its type`);
}

export function protocolError(reason: string): ConnectionError {
  return new ConnectionError(ErrorCode.PROTOCOL_ERROR, reason);
}
