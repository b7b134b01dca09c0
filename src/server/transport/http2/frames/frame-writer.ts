/** Collects the output of a connection until its next write: consecutive frames in one buffer. */

import type { ErrorCode } from './errors';
import { Flag, FRAME_HEADER_BYTES, FrameType } from './frames';

/** Size of a buffer; an answer takes about 60 bytes. */
const CHUNK_BYTES = 8 * 1024;

/** After a write the rest of a buffer is reused if it is larger than this. */
const REST_BYTES_MIN = 1024;

/** A larger buffer, for much output at once, is released after its write, because the connection may be idle for hours. */
const KEPT_BYTES_MAX = 8 * CHUNK_BYTES;

/** A header block that begins with this sets the size of the dynamic table to 0 (RFC 7541, 6.3). */
const EMPTY_TABLE = Buffer.from([0x20]);

export class FrameWriter {
  private chunk: Buffer | undefined;
  private start = 0;
  private position = 0;
  private isTableToBeEmptied = false;

  get isEmpty(): boolean {
    return this.position === this.start;
  }

  /** Returns the output since the last `take`. Its memory is not written to again. */
  take(): Buffer {
    const chunk = this.chunk ?? Buffer.alloc(0);
    const taken = chunk.subarray(this.start, this.position);
    this.start = this.position;
    if (chunk.length - this.position < REST_BYTES_MIN || chunk.length > KEPT_BYTES_MAX) {
      this.chunk = undefined;
      this.start = this.position = 0;
    }
    return taken;
  }

  /** For a peer that allows a smaller dynamic table: the next header block sets its size to 0, and it is not used again. */
  emptyTable(): void {
    this.isTableToBeEmptied = true;
  }

  /** Writes a prebuilt HEADERS frame, and fills in the stream id. */
  prepared(frame: Buffer, streamId: number): void {
    if (this.isTableToBeEmptied) {
      this.frame(FrameType.HEADERS, { flags: frame[4] ?? 0, streamId, payload: this.blockAfterTable(frame.subarray(FRAME_HEADER_BYTES)) });
      return;
    }
    const chunk = this.reserve(frame.length);
    frame.copy(chunk, this.position);
    writeUint32(chunk, this.position + 5, streamId);
    this.position += frame.length;
  }

  frame(
    type: FrameType,
    { flags, streamId, payload }: { readonly flags: number; readonly streamId: number; readonly payload: Buffer },
  ): void {
    const chunk = this.header(type, flags, streamId, payload.length);
    payload.copy(chunk, this.position);
    this.position += payload.length;
  }

  /** Writes DATA with one uncompressed gRPC message. */
  message(streamId: number, message: Buffer): void {
    const chunk = this.header(FrameType.DATA, 0, streamId, MESSAGE_PREFIX_BYTES + message.length);
    chunk[this.position] = 0;
    writeUint32(chunk, this.position + 1, message.length);
    message.copy(chunk, this.position + MESSAGE_PREFIX_BYTES);
    this.position += MESSAGE_PREFIX_BYTES + message.length;
  }

  windowUpdate(streamId: number, increment: number): void {
    const chunk = this.header(FrameType.WINDOW_UPDATE, 0, streamId, 4);
    writeUint32(chunk, this.position, increment);
    this.position += 4;
  }

  reset(streamId: number, code: ErrorCode): void {
    const chunk = this.header(FrameType.RST_STREAM, 0, streamId, 4);
    writeUint32(chunk, this.position, code);
    this.position += 4;
  }

  goaway(lastStreamId: number, code: ErrorCode, reason = ''): void {
    const text = Buffer.from(reason, 'latin1');
    const chunk = this.header(FrameType.GOAWAY, 0, 0, 8 + text.length);
    writeUint32(chunk, this.position, lastStreamId);
    writeUint32(chunk, this.position + 4, code);
    text.copy(chunk, this.position + 8);
    this.position += 8 + text.length;
  }

  /** Writes a header block, split if it exceeds the maximum frame size. */
  headers(
    streamId: number,
    fields: Buffer,
    { endStream, frameBytesMax }: { readonly endStream: boolean; readonly frameBytesMax: number },
  ): void {
    const block = this.isTableToBeEmptied ? this.blockAfterTable(fields) : fields;
    const first = block.subarray(0, frameBytesMax);
    const end = endStream ? Flag.END_STREAM : 0;
    this.frame(FrameType.HEADERS, { flags: end | (first.length === block.length ? Flag.END_HEADERS : 0), streamId, payload: first });
    for (let position = first.length; position < block.length; position += frameBytesMax) {
      const payload = block.subarray(position, position + frameBytesMax);
      this.frame(FrameType.CONTINUATION, { flags: position + payload.length === block.length ? Flag.END_HEADERS : 0, streamId, payload });
    }
  }

  private blockAfterTable(block: Buffer): Buffer {
    this.isTableToBeEmptied = false;
    return Buffer.concat([EMPTY_TABLE, block]);
  }

  /** Writes a frame header; the payload starts at `position` of the returned buffer. */
  private header(type: FrameType, flags: number, streamId: number, length: number): Buffer {
    const chunk = this.reserve(FRAME_HEADER_BYTES + length);
    writeFrameHeader(chunk, this.position, { type, flags, streamId, length });
    this.position += FRAME_HEADER_BYTES;
    return chunk;
  }

  private reserve(bytes: number): Buffer {
    if (this.chunk !== undefined && this.position + bytes <= this.chunk.length) return this.chunk;
    const waiting = this.position - this.start;
    const larger = Buffer.allocUnsafeSlow(Math.max(CHUNK_BYTES, (waiting + bytes) * 2));
    this.chunk?.copy(larger, 0, this.start, this.position);
    this.chunk = larger;
    this.start = 0;
    this.position = waiting;
    return larger;
  }
}

/** The prefix of a gRPC message: compressed flag and length. */
export const MESSAGE_PREFIX_BYTES = 5;

interface FrameHeader {
  readonly type: FrameType;
  readonly flags: number;
  readonly streamId: number;
  readonly length: number;
}

/** Builds a frame for `prepared`. */
export function prepareFrame(type: FrameType, flags: number, payload: Buffer): Buffer {
  const header = Buffer.alloc(FRAME_HEADER_BYTES);
  writeFrameHeader(header, 0, { type, flags, streamId: 0, length: payload.length });
  return Buffer.concat([header, payload]);
}

function writeFrameHeader(bytes: Buffer, position: number, { type, flags, streamId, length }: FrameHeader): void {
  bytes[position] = length >>> 16;
  bytes[position + 1] = length >>> 8;
  bytes[position + 2] = length;
  bytes[position + 3] = type;
  bytes[position + 4] = flags;
  writeUint32(bytes, position + 5, streamId);
}

function writeUint32(bytes: Buffer, position: number, value: number): void {
  bytes[position] = value >>> 24;
  bytes[position + 1] = value >>> 16;
  bytes[position + 2] = value >>> 8;
  bytes[position + 3] = value;
}
