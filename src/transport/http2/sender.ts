/** What a connection sends: frames one behind another, and DATA only as far as the peer's windows allow. */

import { ConnectionError, ErrorCode, StreamError } from './errors';
import { FrameWriter, MESSAGE_PREFIX_BYTES } from './frame-writer';
import { Flag, FrameType, type Frame } from './frames';
import { PeerSettings, WINDOW_MAX } from './peer-settings';
import type { Outbox, Stream } from './stream';
import { ToldHeaders, type HeadersFrame } from './told-headers';

const CONNECTION_WINDOW_DEFAULT = 65_535;

/** DATA that is smaller, and not the last of what waits, costs more than it brings: a peer that opens its windows so pays for it. */
const DRIBBLE_BYTES = 64;

const NO_BYTES = Buffer.alloc(0);

export interface SenderOptions {
  readonly nowMs: () => number;
  /** There is something to write; called once until `take`. At first there is, and it is not called. */
  readonly onOutput: () => void;
  /** Everything of a stream has been sent. */
  readonly onEnd: (stream: Stream) => void;
}

/** An answer: header frames that were made before, around one message. */
export interface PreparedAnswer {
  readonly head: HeadersFrame;
  readonly message: Buffer;
  readonly trailers: HeadersFrame;
}

export class Sender {
  /** When the peer last let us send something that waited for it, or nothing waited. */
  progressMs: number;
  private readonly writer = new FrameWriter();
  private readonly peer = new PeerSettings();
  /** None for a peer that has asked for less of a table than HTTP/2 gives it: such a one saves memory, and is told all each time. */
  private told: ToldHeaders | undefined = new ToldHeaders();
  /** Streams of which something waits: for a window of their own, and for nothing but that of all together. */
  private readonly blocked = new Set<Stream>();
  private readonly blockedByAll = new Set<Stream>();
  private window = CONNECTION_WINDOW_DEFAULT;
  private outputTold = true;
  private dribbles = 0;

  constructor(private readonly options: SenderOptions) {
    this.progressMs = options.nowMs();
  }

  /** Whether something waits for a window of the peer's. */
  get isBlocked(): boolean {
    return this.blocked.size > 0 || this.blockedByAll.size > 0;
  }

  /** What a stream that begins now may be sent. */
  get initialWindow(): number {
    return this.peer.initialWindow;
  }

  take(): Buffer {
    this.outputTold = false;
    return this.writer.take();
  }

  /** A frame of the connection's. */
  control(type: FrameType, flags: number, payload: Buffer = NO_BYTES): void {
    this.writer.frame(type, { flags, streamId: 0, payload });
    this.tellOutput();
  }

  windowUpdate(streamId: number, bytes: number): void {
    this.writer.windowUpdate(streamId, bytes);
    this.tellOutput();
  }

  reset(streamId: number, code: ErrorCode): void {
    this.writer.reset(streamId, code);
    this.tellOutput();
  }

  goaway(lastStreamId: number, code: ErrorCode, reason?: string): void {
    this.writer.goaway(lastStreamId, code, reason);
    this.tellOutput();
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
      this.endWith(stream, trailers.plainBlock);
    }
    this.tellOutput();
  }

  /** A header frame that was made before and ends the stream. */
  answerAtOnce(stream: Stream, head: Buffer): void {
    this.writer.prepared(head, stream.id);
    this.options.onEnd(stream);
    this.tellOutput();
  }

  headers(stream: Stream, block: Buffer, { endStream }: { readonly endStream: boolean }): void {
    this.writer.headers(stream.id, block, { endStream, frameBytesMax: this.peer.frameBytesMax });
    if (endStream) this.options.onEnd(stream);
    this.tellOutput();
  }

  /** Keeps `data`, and sends it as the windows allow. Answers the bytes that wait. */
  send(stream: Stream, data: Buffer): number {
    const outbox = outboxOf(stream);
    outbox.chunks.push(data);
    outbox.bytes += data.length;
    this.pump(stream);
    return outbox.bytes;
  }

  /** Trailers after all that waits; without any (an empty block) the last DATA is the end. */
  endWith(stream: Stream, trailers: Buffer): void {
    outboxOf(stream).trailers = trailers;
    this.pump(stream);
  }

  /**
   * The peer's SETTINGS, and our word that we go by them. Answers how many streams had their window moved by it.
   *
   * @throws ConnectionError for a value that may not be
   */
  applySettings(frame: Frame, streams: Iterable<Stream>): number {
    const { initialWindow, headerTableBytesLeast } = this.peer;
    this.peer.apply(frame);
    this.control(FrameType.SETTINGS, Flag.ACK);
    if (this.peer.headerTableBytesLeast < headerTableBytesLeast) {
      this.writer.emptyTable();
      this.told = undefined;
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
    // No further than the window reaches: a peer with many streams may send little updates without end.
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

  /** How many frames were dribbles since this was asked last. */
  takeDribbles(): number {
    const { dribbles } = this;
    this.dribbles = 0;
    return dribbles;
  }

  /** Nothing of this stream waits any more. */
  forget(stream: Stream): void {
    // Nothing of it ever did, as of nearly all.
    if (stream.outbox === undefined) return;
    this.blocked.delete(stream);
    this.blockedByAll.delete(stream);
  }

  forgetAll(): void {
    this.blocked.clear();
    this.blockedByAll.clear();
  }

  /** Sends of a stream's outbox what the windows allow. */
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
      if (allowed < chunk.length && allowed < DRIBBLE_BYTES) this.dribbles += 1;
      this.progressMs = this.options.nowMs();
      this.tellOutput();
    }
    if (chunks.length > 0) {
      // The clock of a stream that waits runs from now on, not from when the connection last waited.
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

  private formOf(frame: HeadersFrame): Buffer {
    return this.told === undefined ? frame.plain : this.told.take(frame);
  }

  private finish(stream: Stream, trailers: Buffer): void {
    if (trailers.length === 0) this.writer.frame(FrameType.DATA, { flags: Flag.END_STREAM, streamId: stream.id, payload: NO_BYTES });
    else this.writer.headers(stream.id, trailers, { endStream: true, frameBytesMax: this.peer.frameBytesMax });
    this.options.onEnd(stream);
    this.tellOutput();
  }

  private tellOutput(): void {
    if (this.outputTold) return;
    this.outputTold = true;
    this.options.onOutput();
  }
}

function outboxOf(stream: Stream): Outbox {
  return (stream.outbox ??= { chunks: [], bytes: 0, trailers: undefined });
}
