/** What is looked at in frames of several types: their length, and their padding. */

import { ConnectionError, ErrorCode } from './errors';
import { Flag, type Frame } from './frames';

/**
 * Takes the padding off.
 *
 * @throws ConnectionError if there is more padding than frame
 */
export function unpad(frame: Frame): void {
  const { flags, bytes, start, end } = frame;
  if ((flags & Flag.PADDED) === 0) return;
  const padding = bytes[start] ?? 0;
  if (start >= end || padding >= end - start) throw protocolError('more padding than frame');
  frame.start = start + 1;
  frame.end = end - padding;
}

/** @throws ConnectionError if the type does not have that length */
export function checkLength({ start, end }: Frame, isRight: (length: number) => boolean): void {
  if (!isRight(end - start)) throw new ConnectionError(ErrorCode.FRAME_SIZE_ERROR, `a frame of ${end - start} bytes, which its type does not have`);
}

export function protocolError(reason: string): ConnectionError {
  return new ConnectionError(ErrorCode.PROTOCOL_ERROR, reason);
}
