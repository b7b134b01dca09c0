/** The warm-up's HTTP/2 client: it sends batches of calls over one real socket, with the frames that Envoy sends. */

import { connect, type Socket } from 'node:net';
import { FrameWriter } from '../transport/http2/frames/frame-writer';
import { Flag, FRAME_HEADER_BYTES, FrameType, PREFACE } from '../transport/http2/frames/frames';
import { encodeHeaderBlock } from '../transport/http2/hpack/hpack-encoder';
import { SHOULD_RATE_LIMIT_PATH } from '../transport/http2/connection/request-head';

const NO_BYTES = Buffer.alloc(0);

/** Window large enough for all answers of a warm-up. */
const WINDOW_INCREMENT = 2 ** 30;

export interface Call {
  readonly path: string;
  readonly message: Buffer;
}

export class WarmUpCaller {
  private readonly socket: Socket;
  private readonly writer = new FrameWriter();
  private rest: Buffer = NO_BYTES;
  private nextId = 1;
  private waiting = 0;
  private onAnswered: () => void = () => undefined;

  constructor(port: number) {
    this.socket = connect({ host: '127.0.0.1', port, noDelay: true });
    this.socket.write(PREFACE);
    this.writer.frame(FrameType.SETTINGS, { flags: 0, streamId: 0, payload: NO_BYTES });
    this.writer.windowUpdate(0, WINDOW_INCREMENT);
    this.socket.on('data', (chunk: Buffer) => {
      this.read(chunk);
    });
    // 'close' follows each error, and is handled.
    this.socket.on('error', () => undefined);
    this.socket.once('close', () => {
      this.waiting = 0;
      this.onAnswered();
    });
  }

  /** Resolves when every call has an answer, or the connection is closed. */
  call(calls: readonly Call[]): Promise<void> {
    for (const { path, message } of calls) {
      const streamId = this.nextId;
      this.nextId += 2;
      this.writer.frame(FrameType.HEADERS, { flags: Flag.END_HEADERS, streamId, payload: blockOf(path) });
      this.writer.frame(FrameType.DATA, { flags: Flag.END_STREAM, streamId, payload: framed(message) });
    }
    this.waiting += calls.length;
    this.socket.write(this.writer.take());
    return new Promise((resolve) => {
      this.onAnswered = resolve;
      if (this.socket.destroyed) resolve();
    });
  }

  get isClosed(): boolean {
    return this.socket.destroyed;
  }

  close(): void {
    this.socket.destroy();
  }

  private read(chunk: Buffer): void {
    const bytes = this.rest.length === 0 ? chunk : Buffer.concat([this.rest, chunk]);
    let at = 0;
    while (at + FRAME_HEADER_BYTES <= bytes.length) {
      const end = at + FRAME_HEADER_BYTES + bytes.readUIntBE(at, 3);
      if (end > bytes.length) break;
      this.take({ type: bytes[at + 3] ?? 0, flags: bytes[at + 4] ?? 0 });
      at = end;
    }
    this.rest = bytes.subarray(at);
  }

  private take({ type, flags }: { readonly type: number; readonly flags: number }): void {
    if (type === FrameType.SETTINGS && (flags & Flag.ACK) === 0) {
      this.writer.frame(FrameType.SETTINGS, { flags: Flag.ACK, streamId: 0, payload: NO_BYTES });
      this.socket.write(this.writer.take());
    }
    const isEnd = type === FrameType.RST_STREAM || (type === FrameType.HEADERS && (flags & Flag.END_STREAM) !== 0);
    if (!isEnd) return;
    this.waiting -= 1;
    if (this.waiting === 0) this.onAnswered();
  }
}

const blocks = new Map<string, Buffer>();

/** The header block that Envoy sends. */
function blockOf(path: string): Buffer {
  const known = blocks.get(path);
  if (known !== undefined) return known;
  const timeout = path === SHOULD_RATE_LIMIT_PATH ? [{ name: 'grpc-timeout', value: '5000m' }] : [];
  const block = encodeHeaderBlock([
    { name: ':method', value: 'POST' },
    { name: ':path', value: path },
    { name: ':authority', value: 'weir' },
    { name: ':scheme', value: 'http' },
    { name: 'te', value: 'trailers' },
    ...timeout,
    { name: 'content-type', value: 'application/grpc' },
  ]);
  blocks.set(path, block);
  return block;
}

function framed(message: Buffer): Buffer {
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
}
