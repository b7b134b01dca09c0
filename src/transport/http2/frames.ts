/** The frames of HTTP/2 as bytes: their types and flags, and a parser that waits for whole ones. */

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

/** Payload of the largest frame that we take: HTTP/2's default, which nobody has to be told. */
const FRAME_BYTES_MAX = 16_384;

export const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'latin1');

/** One frame; its payload are the bytes from `start` to `end`. All of it may be overwritten once it has been handled. */
export interface Frame {
  type: number;
  flags: number;
  streamId: number;
  bytes: Buffer;
  start: number;
  end: number;
}

const NO_BYTES = Buffer.alloc(0);

/** Cuts what arrives into frames, where they lie; only one that comes in pieces is copied. */
export class FrameParser {
  private prefaceLeft = PREFACE.length;
  /** A frame that has begun: at first its header, then all of it. */
  private partial: Buffer | undefined;
  private filled = 0;
  /** One after another: a call has two frames, and an object for each would be a tenth of what it leaves behind. */
  private readonly frame: Frame = { type: 0, flags: 0, streamId: 0, bytes: NO_BYTES, start: 0, end: 0 };

  constructor(private readonly onFrame: (frame: Frame) => void) {}

  /** @throws ConnectionError if it is no HTTP/2, and whatever `onFrame` throws */
  push(chunk: Buffer): void {
    let position = this.prefaceLeft > 0 ? this.skipPreface(chunk) : 0;
    while (position < chunk.length) {
      if (this.partial === undefined) {
        const left = chunk.length - position;
        if (left >= FRAME_HEADER_BYTES) {
          const total = FRAME_HEADER_BYTES + payloadBytes(chunk, position);
          if (left >= total) {
            this.emit(chunk, position, position + total);
            position += total;
            continue;
          }
        }
        this.partial = Buffer.allocUnsafe(FRAME_HEADER_BYTES);
        this.filled = 0;
      }
      position += this.fill(this.partial, chunk, position);
    }
    // A connection that is silent holds on to nothing that it has read.
    this.frame.bytes = NO_BYTES;
  }

  private fill(partial: Buffer, chunk: Buffer, position: number): number {
    const copied = chunk.copy(partial, this.filled, position);
    this.filled += copied;
    if (this.filled < partial.length) return copied;
    const total = FRAME_HEADER_BYTES + payloadBytes(partial, 0);
    if (this.filled < total) {
      // The length has been checked, so that nobody can ask for more than a frame's worth.
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
  return (((bytes[position] ?? 0) << 24) | ((bytes[position + 1] ?? 0) << 16) | ((bytes[position + 2] ?? 0) << 8) | (bytes[position + 3] ?? 0)) >>> 0;
}

function payloadBytes(bytes: Buffer, position: number): number {
  const length = ((bytes[position] ?? 0) << 16) | ((bytes[position + 1] ?? 0) << 8) | (bytes[position + 2] ?? 0);
  if (length > FRAME_BYTES_MAX) throw new ConnectionError(ErrorCode.FRAME_SIZE_ERROR, `a frame of ${length} bytes; send at most ${FRAME_BYTES_MAX}`);
  return length;
}
