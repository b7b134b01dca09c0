/** Holds what a server says on one connection against the rules: windows, frame sizes, header blocks, the life of a stream, one answer to each call. */

import { Flag, FRAME_HEADER_BYTES, FrameType } from '../../src/server/transport/http2/frames/frames';
import { HpackDecoder } from '../../src/server/transport/http2/hpack/hpack-decoder';

const WINDOW_DEFAULT = 65_535;

const FRAME_BYTES_DEFAULT = 16_384;

const HEADER_TABLE_SIZE = 1;
const INITIAL_WINDOW_SIZE = 4;
const MAX_FRAME_SIZE = 5;

const TABLE_BYTES_DEFAULT = 4096;

/** At the beginning of a header block, in its first three bits: so large is the table from here on. */
const TABLE_SIZE_UPDATE = 0x20;

/** One that has not ended. */
interface HeaderBlock {
  readonly streamId: number;
  readonly isHead: boolean;
  readonly isEnd: boolean;
  readonly pieces: Buffer[];
}

interface AnswerState {
  window: number;
  hasHeaders: boolean;
  /** The client has reset it, and may get what was on its way. */
  isAbandoned: boolean;
}

export class AnswerCheck {
  /** Streams whose client waits for an answer. */
  waiting = 0;
  /** The code of the last one that was read. */
  goaway: number | undefined;
  private readonly open = new Map<number, AnswerState>();
  private lastId = 0;
  private window = WINDOW_DEFAULT;
  private initialWindow = WINDOW_DEFAULT;
  private frameBytesMax = FRAME_BYTES_DEFAULT;
  /** SETTINGS that the server has not said yes to: they count from then on. */
  private readonly settings: Buffer[] = [];
  private readonly pings: string[] = [];
  private block: HeaderBlock | undefined;
  private readonly headers = new HpackDecoder();
  private tableBytesLeast = TABLE_BYTES_DEFAULT;
  /** The server has said yes to a smaller table, and not yet in a header block how large it makes it. */
  private isTableToShrink = false;

  /** What the client says, before the server has it; several frames in one piece are one call each. */
  sent(frame: Buffer): void {
    const streamId = frame.readUInt32BE(5) & 0x7fffffff;
    const flags = frame[4]!;
    const payload = frame.subarray(FRAME_HEADER_BYTES);
    const type = frame[3]!;
    if (type === FrameType.HEADERS && streamId > this.lastId) this.begin(streamId);
    else if (type === FrameType.RST_STREAM) this.abandon(streamId);
    else if (type === FrameType.SETTINGS && (flags & Flag.ACK) === 0) this.settings.push(Buffer.from(payload));
    else if (type === FrameType.PING && (flags & Flag.ACK) === 0) this.pings.push(payload.toString('latin1'));
    else if (type === FrameType.WINDOW_UPDATE) this.widen(streamId, payload.readUInt32BE(0) & 0x7fffffff);
  }

  /** @throws Error that says which rule was broken */
  received(bytes: Buffer): void {
    let at = 0;
    while (at < bytes.length) {
      const length = bytes.readUIntBE(at, 3);
      const end = at + FRAME_HEADER_BYTES + length;
      if (end > bytes.length) throw new Error('half a frame was written');
      if (this.goaway !== undefined && this.goaway !== 0) throw new Error('a frame after the GOAWAY that ended the connection');
      if (length > this.frameBytesMax) throw new Error(`a frame of ${length} bytes, where ${this.frameBytesMax} are allowed`);
      this.check({
        type: bytes[at + 3]!,
        flags: bytes[at + 4]!,
        streamId: bytes.readUInt32BE(at + 5),
        payload: bytes.subarray(at + FRAME_HEADER_BYTES, end),
      });
      at = end;
    }
  }

  private check({ type, flags, streamId, payload }: { type: number; flags: number; streamId: number; payload: Buffer }): void {
    if (this.block !== undefined && (type !== FrameType.CONTINUATION || streamId !== this.block.streamId))
      throw new Error('a frame within a header block');
    switch (type) {
      case FrameType.HEADERS:
        this.onHeaders(streamId, flags);
        this.onBlock(flags, payload);
        return;
      case FrameType.CONTINUATION:
        this.onBlock(flags, payload);
        return;
      case FrameType.DATA:
        this.onData(streamId, flags, payload.length);
        return;
      case FrameType.RST_STREAM:
        // Also of a stream that has ended: its client is told that nobody listens any more.
        this.end(streamId);
        return;
      case FrameType.SETTINGS:
        if (flags & Flag.ACK) this.apply();
        return;
      case FrameType.PING:
        if ((flags & Flag.ACK) !== 0 && this.pings.shift() !== payload.toString('latin1')) throw new Error('the answer to another PING');
        return;
      case FrameType.GOAWAY:
        this.goaway = payload.readUInt32BE(4);
        return;
      case FrameType.WINDOW_UPDATE:
        if (payload.readUInt32BE(0) === 0) throw new Error('WINDOW_UPDATE by 0');
        return;
      default:
        throw new Error(`a frame of type ${type}`);
    }
  }

  private onHeaders(streamId: number, flags: number): void {
    const stream = this.stream(streamId);
    const isEnd = (flags & Flag.END_STREAM) !== 0;
    if (stream.hasHeaders && !isEnd) throw new Error('headers twice');
    this.block = { streamId, isHead: !stream.hasHeaders, isEnd, pieces: [] };
    stream.hasHeaders = true;
    if (isEnd) this.end(streamId);
  }

  private onBlock(flags: number, payload: Buffer): void {
    const { block } = this;
    if (block === undefined) throw new Error('CONTINUATION of nothing');
    block.pieces.push(payload);
    if ((flags & Flag.END_HEADERS) === 0) return;
    this.block = undefined;
    const bytes = Buffer.concat(block.pieces);
    if (this.isTableToShrink && (bytes[0]! & 0xe0) !== TABLE_SIZE_UPDATE)
      throw new Error('a header block that does not say that the table is smaller now');
    this.isTableToShrink = false;
    this.onFields(
      this.headers.decode(bytes).fields.map(({ name }) => name),
      block,
    );
  }

  /** A field that is looked for in the wrong place of the table is another one. */
  private onFields(names: readonly string[], { isHead, isEnd }: HeaderBlock): void {
    const isWhole = isHead ? names[0] === ':status' : isEnd && names.includes('grpc-status') && !names.includes(':status');
    if (!isWhole) throw new Error(`${isHead ? 'headers' : 'trailers'} of ${names.join(', ')}`);
  }

  private onData(streamId: number, flags: number, length: number): void {
    const stream = this.stream(streamId);
    if (!stream.hasHeaders) throw new Error('DATA before the headers');
    if (length > 0 && (length > stream.window || length > this.window)) {
      throw new Error(`DATA of ${length} bytes, where the windows have ${stream.window} and ${this.window}`);
    }
    stream.window -= length;
    this.window -= length;
    if (flags & Flag.END_STREAM) this.end(streamId);
  }

  private stream(streamId: number): AnswerState {
    const stream = this.open.get(streamId);
    if (stream === undefined) throw new Error('a frame of a stream that is not open');
    return stream;
  }

  private begin(streamId: number): void {
    this.open.set(streamId, { window: this.initialWindow, hasHeaders: false, isAbandoned: false });
    this.lastId = streamId;
    this.waiting += 1;
  }

  private abandon(streamId: number): void {
    const stream = this.open.get(streamId);
    if (stream === undefined || stream.isAbandoned) return;
    stream.isAbandoned = true;
    this.waiting -= 1;
  }

  private end(streamId: number): void {
    const stream = this.open.get(streamId);
    if (stream === undefined) return;
    this.open.delete(streamId);
    if (!stream.isAbandoned) this.waiting -= 1;
  }

  private widen(streamId: number, increment: number): void {
    const stream = this.open.get(streamId);
    if (streamId === 0) this.window += increment;
    else if (stream !== undefined) stream.window += increment;
  }

  private apply(): void {
    const payload = this.settings.shift();
    if (payload === undefined) throw new Error('a yes to SETTINGS that were not sent');
    for (let at = 0; at + 6 <= payload.length; at += 6) {
      const [id, value] = [payload.readUInt16BE(at), payload.readUInt32BE(at + 2)];
      if (id === MAX_FRAME_SIZE) this.frameBytesMax = value;
      if (id === HEADER_TABLE_SIZE && value < this.tableBytesLeast) {
        this.tableBytesLeast = value;
        this.isTableToShrink = true;
      }
      if (id !== INITIAL_WINDOW_SIZE) continue;
      for (const stream of this.open.values()) stream.window += value - this.initialWindow;
      this.initialWindow = value;
    }
  }
}
