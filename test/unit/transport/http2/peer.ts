/** The client's side of a connection for tests: sends any frames, and reads what comes back. */

import { ByteBudget } from '../../../../src/server/transport/byte-budget';
import { Connection } from '../../../../src/server/transport/http2/connection/connection';
import type { ErrorCode } from '../../../../src/server/transport/http2/frames/errors';
import { FrameType, PREFACE, type Frame } from '../../../../src/server/transport/http2/frames/frames';
import { encodeHeaderBlock } from '../../../../src/server/transport/http2/hpack/hpack-encoder';
import { SHOULD_RATE_LIMIT_PATH, type RequestHead } from '../../../../src/server/transport/http2/connection/request-head';
import type { Stream, StreamHandler } from '../../../../src/server/transport/http2/connection/stream';

export type Received = Pick<Frame, 'type' | 'flags' | 'streamId'> & { readonly payload: Buffer };

export function frame(type: number, streamId: number, payload: Buffer = Buffer.alloc(0), flags = 0): Buffer {
  const header = Buffer.alloc(9);
  header.writeUIntBE(payload.length, 0, 3);
  header[3] = type;
  header[4] = flags;
  header.writeUInt32BE(streamId, 5);
  return Buffer.concat([header, payload]);
}

export function uint32(...values: number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 4);
  for (const [index, value] of values.entries()) bytes.writeUInt32BE(value, index * 4);
  return bytes;
}

export function setting(id: number, value: number): Buffer {
  const bytes = Buffer.alloc(6);
  bytes.writeUInt16BE(id, 0);
  bytes.writeUInt32BE(value, 2);
  return bytes;
}

export const CALL_FIELDS = [
  { name: ':method', value: 'POST' },
  { name: ':scheme', value: 'http' },
  { name: ':path', value: SHOULD_RATE_LIMIT_PATH },
  { name: 'te', value: 'trailers' },
  { name: 'content-type', value: 'application/grpc' },
];

export const CALL_BLOCK = encodeHeaderBlock(CALL_FIELDS);

const END_STREAM = 0x1;
const END_HEADERS = 0x4;

export function headers(streamId: number, { endStream = true, block = CALL_BLOCK } = {}): Buffer {
  return frame(FrameType.HEADERS, streamId, block, END_HEADERS | (endStream ? END_STREAM : 0));
}

export function framesOf(bytes: Buffer): Received[] {
  const frames: Received[] = [];
  for (let at = 0; at < bytes.length;) {
    const length = bytes.readUIntBE(at, 3);
    frames.push({
      type: bytes[at + 3]!,
      flags: bytes[at + 4]!,
      streamId: bytes.readUInt32BE(at + 5),
      payload: Buffer.from(bytes.subarray(at + 9, at + 9 + length)),
    });
    at += 9 + length;
  }
  return frames;
}

/** A connection whose streams nobody answers but the test. */
export class Peer {
  nowMs = 0;
  readonly opened: { stream: Stream; head: RequestHead }[] = [];
  readonly resets: { streamId: number; code: ErrorCode }[] = [];
  readonly faults: unknown[] = [];
  readonly ended: number[] = [];
  received = 0;
  /** How often the connection has asked for its turn to write. */
  outputs = 0;
  readonly connection: Connection;

  constructor(
    private readonly answerBy?: (connection: Connection, stream: Stream) => StreamHandler | undefined,
    { waiting = new ByteBudget() } = {},
  ) {
    this.connection = new Connection({
      waiting,
      nowMs: () => this.nowMs,
      onFault: (error) => this.faults.push(error),
      onOutput: () => {
        this.outputs += 1;
      },
      open: (connection, stream, head) => {
        this.opened.push({ stream, head });
        return this.answerBy?.(connection, stream) ?? this.silent(connection, stream);
      },
    });
    this.connection.push(Buffer.concat([PREFACE, frame(FrameType.SETTINGS, 0)]));
    this.frames();
  }

  send(...frames: Buffer[]): Received[] {
    this.connection.push(Buffer.concat(frames));
    return this.frames();
  }

  frames(): Received[] {
    return framesOf(Buffer.from(this.connection.takeOutput()));
  }

  /** The code of the GOAWAY that ended the connection; undefined if it lives. */
  goaway(frames: Received[]): number | undefined {
    if (!this.connection.isClosed) return undefined;
    return frames.find(({ type }) => type === FrameType.GOAWAY)?.payload.readUInt32BE(4);
  }

  private silent(connection: Connection, stream: Stream): StreamHandler {
    return {
      onData: (_bytes, start, end) => {
        this.received += end - start;
        connection.consume(stream, end - start);
      },
      onEnd: () => this.ended.push(stream.id),
      onReset: (code) => this.resets.push({ streamId: stream.id, code }),
    };
  }
}

/** The code of the RST_STREAM of a stream. */
export function resetOf(frames: Received[], streamId: number): number | undefined {
  return frames.find((one) => one.type === FrameType.RST_STREAM && one.streamId === streamId)?.payload.readUInt32BE(0);
}
