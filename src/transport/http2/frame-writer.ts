/** What a connection has to say until its next write: frames one behind another, in one piece of memory. */

import type { ErrorCode } from './errors';
import { Flag, FRAME_HEADER_BYTES, FrameType } from './frames';

/** Memory is taken in pieces of this; an answer has some 60 bytes. */
const CHUNK_BYTES = 8 * 1024;

/** What is left of a piece after a write is used on if it is more than this. */
const REST_BYTES_MIN = 1024;

/** A larger piece, for very much at once, is given back after its write: a connection may be silent for hours then. */
const KEPT_BYTES_MAX = 8 * CHUNK_BYTES;

/** At the beginning of a header block: the table of those fields that the peer remembers has room for none (RFC 7541, 6.3). */
const EMPTY_TABLE = Buffer.from([0x20]);

export class FrameWriter {
  private chunk: Buffer | undefined;
  private start = 0;
  private position = 0;
  private isTableToBeEmptied = false;

  get isEmpty(): boolean {
    return this.position === this.start;
  }

  /** What has been written since the last `take`. Its memory is not written to again. */
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

  /** To a peer that allows a smaller table than before the next header block has to say how large it is: from then on it is not used. */
  emptyTable(): void {
    this.isTableToBeEmptied = true;
  }

  /** HEADERS that are whole already: header and block. Its stream is put in. */
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

  frame(type: FrameType, { flags, streamId, payload }: { readonly flags: number; readonly streamId: number; readonly payload: Buffer }): void {
    const chunk = this.header(type, flags, streamId, payload.length);
    payload.copy(chunk, this.position);
    this.position += payload.length;
  }

  /** DATA with one gRPC message, not compressed. */
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

  /** Header blocks that we send are below a frame's size, or are cut. */
  headers(streamId: number, fields: Buffer, { endStream, frameBytesMax }: { readonly endStream: boolean; readonly frameBytesMax: number }): void {
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

  /** Writes the header and answers where the payload goes, at `position`. */
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

/** Before each message of gRPC: whether it is compressed, and its length. */
export const MESSAGE_PREFIX_BYTES = 5;

interface FrameHeader {
  readonly type: FrameType;
  readonly flags: number;
  readonly streamId: number;
  readonly length: number;
}

/** A frame for `prepared`. */
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
