/** HTTP/2 frames as bytes: types, flags, and a parser. */

import { ConnectionError, ErrorCode } from './errors';

/** RFC 9113, 6. */
export const FrameType = {
  DATA: 0,
  HEADERS: 1,
  PRIORITY: 2,
  RST_STREAM: 3,
  SETTINGS: 4,
  PUSH_PROMISE: 5,
  PING: 6,
  GOAWAY: 7,
  WINDOW_UPDATE: 8,
  CONTINUATION: 9,
} as const;

export type FrameType = (typeof FrameType)[keyof typeof FrameType];

export const Flag = { ACK: 0x1, END_STREAM: 0x1, END_HEADERS: 0x4, PADDED: 0x8, PRIORITY: 0x20 } as const;

export const FRAME_HEADER_BYTES = 9;

/** Maximum payload that the server accepts: HTTP/2's default, which needs no SETTINGS. */
const FRAME_BYTES_MAX = 16_384;

export const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'latin1');

/** One frame; its payload is `bytes` from `start` to `end`. The object and the bytes may be reused after it was handled. */
export interface Frame {
  type: number;
  flags: number;
  streamId: number;
  bytes: Buffer;
  start: number;
  end: number;
}

/** Bounds how much is read at once. */
export interface Share {
  /** Called after each frame with its size. */
  isSpent(bytes: number): boolean;
}

export const ENDLESS: Share = { isSpent: () => false };

const NO_BYTES = Buffer.alloc(0);

/** Splits the input into frames in place; only a frame that arrives in pieces is copied. */
export class FrameParser {
  private prefaceLeft = PREFACE.length;
  /** An incomplete frame: at first its header, then the whole frame. */
  private partial: Buffer | undefined;
  private filled = 0;
  /** Reused, because a call has two frames, and an object for each would be a tenth of its garbage. */
  private readonly frame: Frame = { type: 0, flags: 0, streamId: 0, bytes: NO_BYTES, start: 0, end: 0 };

  constructor(private readonly onFrame: (frame: Frame) => void) {}

  /**
   * Processes bytes from `start`; returns the position at the end, or after the frame that spent the share.
   *
   * @throws ConnectionError for input that is not HTTP/2, and what `onFrame` throws
   */
  push(chunk: Buffer, start = 0, share = ENDLESS): number {
    let position = this.prefaceLeft > 0 ? this.skipPreface(chunk) : start;
    while (position < chunk.length) {
      if (this.partial === undefined) {
        const left = chunk.length - position;
        if (left >= FRAME_HEADER_BYTES) {
          const total = FRAME_HEADER_BYTES + payloadBytes(chunk, position);
          if (left >= total) {
            this.emit(chunk, position, position + total);
            position += total;
            if (share.isSpent(total)) return this.pause(position);
            continue;
          }
        }
        this.partial = Buffer.allocUnsafe(FRAME_HEADER_BYTES);
        this.filled = 0;
      }
      position += this.fill(this.partial, chunk, position);
    }
    return this.pause(position);
  }

  /** Releases processed input, so that an idle connection keeps none of it in memory. */
  private pause(position: number): number {
    this.frame.bytes = NO_BYTES;
    return position;
  }

  private fill(partial: Buffer, chunk: Buffer, position: number): number {
    const copied = chunk.copy(partial, this.filled, position);
    this.filled += copied;
    if (this.filled < partial.length) return copied;
    const total = FRAME_HEADER_BYTES + payloadBytes(partial, 0);
    if (this.filled < total) {
      // The length was checked, so a peer can allocate at most one frame.
      this.partial = Buffer.allocUnsafe(total);
      partial.copy(this.partial);
      return copied;
    }
    this.partial = undefined;
    this.emit(partial, 0, total);
    return copied;
  }

  private emit(bytes: Buffer, from: number, end: number): void {
    const { frame } = this;
    frame.type = bytes[from + 3] ?? 0;
    frame.flags = bytes[from + 4] ?? 0;
    frame.streamId = readUint31(bytes, from + 5);
    frame.bytes = bytes;
    frame.start = from + FRAME_HEADER_BYTES;
    frame.end = end;
    this.onFrame(frame);
  }

  private skipPreface(chunk: Buffer): number {
    const from = PREFACE.length - this.prefaceLeft;
    const length = Math.min(this.prefaceLeft, chunk.length);
    if (chunk.compare(PREFACE, from, from + length, 0, length) !== 0) {
      throw new ConnectionError(ErrorCode.PROTOCOL_ERROR, 'this port speaks HTTP/2 with prior knowledge');
    }
    this.prefaceLeft -= length;
    return length;
  }
}

export function readUint31(bytes: Buffer, position: number): number {
  return readUint32(bytes, position) & 0x7fffffff;
}

export function readUint32(bytes: Buffer, position: number): number {
  return (
    (((bytes[position] ?? 0) << 24) |
      ((bytes[position + 1] ?? 0) << 16) |
      ((bytes[position + 2] ?? 0) << 8) |
      (bytes[position + 3] ?? 0)) >>>
    0
  );
}

function payloadBytes(bytes: Buffer, position: number): number {
  const length = ((bytes[position] ?? 0) << 16) | ((bytes[position + 1] ?? 0) << 8) | (bytes[position + 2] ?? 0);
  if (length > FRAME_BYTES_MAX)
    throw new ConnectionError(ErrorCode.FRAME_SIZE_ERROR, `a frame of ${length} bytes; send at most ${FRAME_BYTES_MAX}`);
  return length;
}
