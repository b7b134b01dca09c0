/** Sends the frames of a connection, and DATA only as far as the peer's windows allow. */

import type { ByteBudget } from '../../byte-budget';
import { ConnectionError, ErrorCode, StreamError } from '../frames/errors';
import { FrameWriter, MESSAGE_PREFIX_BYTES } from '../frames/frame-writer';
import { Flag, FrameType, type Frame } from '../frames/frames';
import { PeerSettings, WINDOW_MAX } from './peer-settings';
import type { Outbox, Stream } from './stream';
import { EncoderDynamicTable, type HeadersFrame } from './encoder-dynamic-table';

const CONNECTION_WINDOW_DEFAULT = 65_535;

/** Smaller DATA that is not the last of its stream costs more than it helps: a peer that opens its windows in such steps pays for it. */
const TINY_FRAME_BYTES = 64;

/** The bytes that a stream keeps in memory while its output waits, besides the output. */
const WAITING_STREAM_BYTES = 4_096;

const NO_BYTES = Buffer.alloc(0);

export interface SenderOptions {
  readonly nowMs: () => number;
  /** Called when output appears; then not again until `take`. A new sender has output without a call. */
  readonly onOutput: () => void;
  /** Everything of a stream was sent. */
  readonly onEnd: (stream: Stream) => void;
  /** For output that waits for a window of the peer. */
  readonly waiting: ByteBudget;
  /** The budget is used up, so the stream must be reset. */
  readonly onUnsent: (stream: Stream) => void;
}

/** An answer: one message between prebuilt header frames. */
export interface PreparedAnswer {
  readonly head: HeadersFrame;
  readonly message: Buffer;
  readonly trailers: HeadersFrame;
}

export class Sender {
  /** When waiting output last progressed, or nothing waited. */
  progressMs: number;
  private readonly writer = new FrameWriter();
  private readonly peer = new PeerSettings();
  /** Undefined if the peer allows a smaller dynamic table than HTTP/2's default: then headers are not indexed. */
  private dynamicTable: EncoderDynamicTable | undefined = new EncoderDynamicTable();
  /** Streams with waiting data: those blocked by their own window, and those blocked only by the connection's. */
  private readonly blocked = new Set<Stream>();
  private readonly blockedByAll = new Set<Stream>();
  private window = CONNECTION_WINDOW_DEFAULT;
  private outputTold = true;
  private tinyFrames = 0;

  constructor(private readonly options: SenderOptions) {
    this.progressMs = options.nowMs();
  }

  /** Whether output waits for a window of the peer. */
  get isBlocked(): boolean {
    return this.blocked.size > 0 || this.blockedByAll.size > 0;
  }

  /** The initial send window of a new stream. */
  get initialWindow(): number {
    return this.peer.initialWindow;
  }

  take(): Buffer {
    this.outputTold = false;
    return this.writer.take();
  }

  /** Writes a frame of the connection. */
  control(type: FrameType, flags: number, payload: Buffer = NO_BYTES): void {
    this.writer.frame(type, { flags, streamId: 0, payload });
    this.notifyOutput();
  }

  windowUpdate(streamId: number, bytes: number): void {
    this.writer.windowUpdate(streamId, bytes);
    this.notifyOutput();
  }

  reset(streamId: number, code: ErrorCode): void {
    this.writer.reset(streamId, code);
    this.notifyOutput();
  }

  goaway(lastStreamId: number, code: ErrorCode, reason?: string): void {
    this.writer.goaway(lastStreamId, code, reason);
    this.notifyOutput();
  }

  answer(stream: Stream, { head, message, trailers }: PreparedAnswer): void {
    this.writer.prepared(this.formOf(head), stream.id);
    const bytes = MESSAGE_PREFIX_BYTES + message.length;
    if (bytes <= this.window && bytes <= stream.sendWindow && bytes <= this.peer.frameBytesMax) {
      this.window -= bytes;
      stream.sendWindow -= bytes;
      this.writer.message(stream.id, message);
      this.writer.prepared(this.formOf(trailers), stream.id);
      this.options.onEnd(stream);
    } else {
      const prefix = Buffer.alloc(MESSAGE_PREFIX_BYTES);
      prefix.writeUInt32BE(message.length, 1);
      this.send(stream, Buffer.concat([prefix, message]));
      if (stream.isOpen) this.endWith(stream, trailers.plainBlock);
    }
    this.notifyOutput();
  }

  /** Sends a prebuilt header frame that ends the stream. */
  answerAtOnce(stream: Stream, head: Buffer): void {
    this.writer.prepared(head, stream.id);
    this.options.onEnd(stream);
    this.notifyOutput();
  }

  headers(stream: Stream, block: Buffer, { endStream }: { readonly endStream: boolean }): void {
    this.writer.headers(stream.id, block, { endStream, frameBytesMax: this.peer.frameBytesMax });
    if (endStream) this.options.onEnd(stream);
    this.notifyOutput();
  }

  /** Queues `data` and sends what the windows allow. Returns the bytes that still wait. */
  send(stream: Stream, data: Buffer): number {
    const outbox = outboxOf(stream);
    outbox.chunks.push(data);
    outbox.bytes += data.length;
    this.pump(stream);
    return outbox.bytes;
  }

  /** Sends trailers after all queued data; if the block is empty, the last DATA ends the stream. */
  endWith(stream: Stream, trailers: Buffer): void {
    outboxOf(stream).trailers = trailers;
    this.pump(stream);
  }

  /**
   * Applies and acknowledges the peer's SETTINGS. Returns the number of streams whose window changed.
   *
   * @throws ConnectionError for an invalid value
   */
  applySettings(frame: Frame, streams: Iterable<Stream>): number {
    const { initialWindow, headerTableBytesLeast } = this.peer;
    this.peer.apply(frame);
    this.control(FrameType.SETTINGS, Flag.ACK);
    if (this.peer.headerTableBytesLeast < headerTableBytesLeast) {
      this.writer.emptyTable();
      this.dynamicTable = undefined;
    }
    const change = this.peer.initialWindow - initialWindow;
    if (change === 0) return 0;
    const moved = [...streams];
    for (const stream of moved) {
      stream.sendWindow += change;
      if (stream.sendWindow > WINDOW_MAX) throw new ConnectionError(ErrorCode.FLOW_CONTROL_ERROR, 'a window of over 2^31 - 1');
      this.pump(stream);
    }
    return moved.length;
  }

  /** @throws ConnectionError FLOW_CONTROL_ERROR */
  widen(bytes: number): void {
    this.window += bytes;
    if (this.window > WINDOW_MAX) throw new ConnectionError(ErrorCode.FLOW_CONTROL_ERROR, 'a window of over 2^31 - 1');
    // Stops where the window ends: a peer with many streams could send small updates endlessly.
    for (const stream of this.blockedByAll) {
      if (this.window <= 0) return;
      this.pump(stream);
    }
  }

  /** @throws StreamError FLOW_CONTROL_ERROR */
  widenOf(stream: Stream, bytes: number): void {
    stream.sendWindow += bytes;
    if (stream.sendWindow > WINDOW_MAX) throw new StreamError(stream.id, ErrorCode.FLOW_CONTROL_ERROR, 'a window of over 2^31 - 1');
    this.pump(stream);
  }

  /** Returns and resets the count of tiny frames. */
  takeTinyFrames(): number {
    const { tinyFrames } = this;
    this.tinyFrames = 0;
    return tinyFrames;
  }

  /** Drops what waits of this stream. */
  forget(stream: Stream): void {
    // Almost no stream ever had data waiting.
    if (stream.outbox === undefined) return;
    this.giveBack(stream.outbox);
    this.blocked.delete(stream);
    this.blockedByAll.delete(stream);
  }

  forgetAll(): void {
    for (const { outbox } of [...this.blocked, ...this.blockedByAll]) if (outbox !== undefined) this.giveBack(outbox);
    this.blocked.clear();
    this.blockedByAll.clear();
  }

  /** Sends what the windows allow of a stream's data. */
  private pump(stream: Stream): void {
    const { outbox } = stream;
    if (outbox === undefined) return;
    const { chunks } = outbox;
    for (let chunk = chunks[0]; chunk !== undefined; chunk = chunks[0]) {
      const allowed = Math.min(chunk.length, this.window, stream.sendWindow, this.peer.frameBytesMax);
      if (allowed <= 0 && chunk.length > 0) break;
      this.writer.frame(FrameType.DATA, { flags: 0, streamId: stream.id, payload: chunk.subarray(0, allowed) });
      this.window -= allowed;
      stream.sendWindow -= allowed;
      outbox.bytes -= allowed;
      if (allowed === chunk.length) chunks.shift();
      else chunks[0] = chunk.subarray(allowed);
      if (allowed < chunk.length && allowed < TINY_FRAME_BYTES) this.tinyFrames += 1;
      this.progressMs = this.options.nowMs();
      this.notifyOutput();
    }
    if (chunks.length > 0) {
      if (!this.hold(outbox)) {
        this.options.onUnsent(stream);
        return;
      }
      // A stream that begins to wait starts the clock, not the time of an earlier wait.
      if (!this.isBlocked) this.progressMs = this.options.nowMs();
      const [waits, waitsNot] = stream.sendWindow > 0 ? [this.blockedByAll, this.blocked] : [this.blocked, this.blockedByAll];
      waitsNot.delete(stream);
      waits.add(stream);
      return;
    }
    this.forget(stream);
    if (outbox.trailers !== undefined) this.finish(stream, outbox.trailers);
    else stream.handler?.onDrained?.();
  }

  private hold(outbox: Outbox): boolean {
    const more = outbox.bytes + WAITING_STREAM_BYTES - outbox.held;
    if (more > 0 && !this.options.waiting.take(more)) return false;
    if (more < 0) this.options.waiting.giveBack(-more);
    outbox.held += more;
    return true;
  }

  private giveBack(outbox: Outbox): void {
    this.options.waiting.giveBack(outbox.held);
    outbox.held = 0;
  }

  private formOf(frame: HeadersFrame): Buffer {
    return this.dynamicTable === undefined ? frame.plain : this.dynamicTable.take(frame);
  }

  private finish(stream: Stream, trailers: Buffer): void {
    if (trailers.length === 0) this.writer.frame(FrameType.DATA, { flags: Flag.END_STREAM, streamId: stream.id, payload: NO_BYTES });
    else this.writer.headers(stream.id, trailers, { endStream: true, frameBytesMax: this.peer.frameBytesMax });
    this.options.onEnd(stream);
    this.notifyOutput();
  }

  private notifyOutput(): void {
    if (this.outputTold) return;
    this.outputTold = true;
    this.options.onOutput();
  }
}

function outboxOf(stream: Stream): Outbox {
  return (stream.outbox ??= { chunks: [], bytes: 0, held: 0, trailers: undefined });
}
