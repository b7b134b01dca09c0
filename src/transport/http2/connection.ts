/** One connection of a server: takes frames, keeps the rules of HTTP/2 and the bounds, and gives streams to those who answer them. */

import { Allowance } from './allowance';
import { ConnectionError, ErrorCode, StreamError } from './errors';
import { FrameWriter, MESSAGE_PREFIX_BYTES } from './frame-writer';
import { Flag, FRAME_HEADER_BYTES, FrameParser, FrameType, readUint31, type Frame } from './frames';
import { HeaderBlocks } from './header-blocks';
import { HEADER_LIST_BYTES_MAX } from './hpack-decoder';
import { PeerSettings, WINDOW_MAX } from './peer-settings';
import type { RequestHead } from './request-head';
import { Stream, type StreamHandler } from './stream';

/** Streams at once, told to the peer. One that the peer has reset counts until its work is done. */
export const STREAMS_MAX = 1024;

/** What a peer may send before we have taken it: on a stream (HTTP/2's default), and on all of them. */
const STREAM_WINDOW = 65_535;
const CONNECTION_WINDOW = 1024 * 1024;
const CONNECTION_WINDOW_DEFAULT = 65_535;

/** Frames that only cost: PING, SETTINGS, PRIORITY, WINDOW_UPDATE, empty DATA and what nobody knows. A call earns some more. */
const CONTROL_ALLOWANCE = { burst: 2000, perSecond: 500 };
const CONTROL_PER_CALL = 4;

/**
 * Streams that the peer resets, or that it opens beyond the bound. Envoy resets each call that timed out, so this is
 * far above what one may have under way; the work itself is bounded by STREAMS_MAX.
 */
const RESET_ALLOWANCE = { burst: 10_000, perSecond: 5000 };

/** Streams ended by us whose frames may still be on their way. */
const ENDED_MAX = 4096;

const PING_BYTES = 8;

/** Nobody else pings with this: its answer says that the peer knows of the drain. */
const DRAIN_PING = Buffer.from('weirgone', 'latin1');

/** SETTINGS_MAX_CONCURRENT_STREAMS, SETTINGS_MAX_HEADER_LIST_SIZE. */
const SETTINGS_PAYLOAD = Buffer.alloc(12);
SETTINGS_PAYLOAD.writeUInt16BE(3, 0);
SETTINGS_PAYLOAD.writeUInt32BE(STREAMS_MAX, 2);
SETTINGS_PAYLOAD.writeUInt16BE(6, 6);
SETTINGS_PAYLOAD.writeUInt32BE(HEADER_LIST_BYTES_MAX, 8);

const NO_BYTES = Buffer.alloc(0);

export interface ConnectionOptions {
  /** Who answers a stream. It may do so at once. */
  readonly open: (connection: Connection, stream: Stream, head: RequestHead) => StreamHandler;
  /** There is something to write; called once until `takeOutput`. At first there is, and it is not called. */
  readonly onOutput: (connection: Connection) => void;
  /** Told what should not happen; the connection is over. */
  readonly onFault: (error: unknown) => void;
  readonly nowMs: () => number;
}

export class Connection {
  /** No more frames are taken; what is left to write is the last. */
  isClosed = false;
  /** When the peer last let us send something that waited for it, or nothing waits. */
  progressMs: number;
  hasSettings = false;
  private readonly writer = new FrameWriter();
  private readonly parser = new FrameParser((frame) => {
    this.onFrame(frame);
  });
  private readonly peer = new PeerSettings();
  private readonly headerBlocks = new HeaderBlocks();
  private readonly control: Allowance;
  private readonly resets: Allowance;
  private readonly streams = new Map<number, Stream>();
  private readonly blocked = new Set<Stream>();
  /** Ended by us, in the order of that. */
  private readonly ended = new Set<number>();
  /** Calls that go on although the peer has reset them. */
  private orphans = 0;
  private lastStreamId = 0;
  /** The last stream before which the peer left some out. */
  private skippedBefore = { from: 0, to: 0 };
  private sendWindow = CONNECTION_WINDOW_DEFAULT;
  private receiveWindow = CONNECTION_WINDOW;
  private consumed = 0;
  private outputTold = true;
  private headersOf: { readonly streamId: number; readonly endStream: boolean } | undefined;
  private drainState: 'no' | 'told' | 'last' = 'no';

  constructor(private readonly options: ConnectionOptions) {
    this.progressMs = options.nowMs();
    this.control = new Allowance(CONTROL_ALLOWANCE, options.nowMs);
    this.resets = new Allowance(RESET_ALLOWANCE, options.nowMs);
    // At once: many clients say nothing before they have it.
    this.writer.frame(FrameType.SETTINGS, { flags: 0, streamId: 0, payload: SETTINGS_PAYLOAD });
    this.writer.windowUpdate(0, CONNECTION_WINDOW - CONNECTION_WINDOW_DEFAULT);
  }

  /** Streams that are open, and calls that outlived theirs. */
  get load(): number {
    return this.streams.size + this.orphans;
  }

  /** Whether the peer has been told which stream was the last. */
  get isDrained(): boolean {
    return this.drainState === 'last';
  }

  /** Whether something waits for a window of the peer's. */
  get isBlocked(): boolean {
    return this.blocked.size > 0;
  }

  push(chunk: Buffer): void {
    if (this.isClosed) return;
    try {
      this.parser.push(chunk);
    } catch (error) {
      if (error instanceof ConnectionError) {
        this.fail(error);
        return;
      }
      // The others go on.
      this.options.onFault(error);
      this.fail(new ConnectionError(ErrorCode.INTERNAL_ERROR, 'internal error'));
    }
  }

  takeOutput(): Buffer {
    this.outputTold = false;
    return this.writer.take();
  }

  /**
   * Tells the peer to open no more streams; those that it opens before it knows are answered. It knows once it answers
   * the ping, and then it is told which stream was the last.
   */
  startDrain(): void {
    if (this.drainState !== 'no' || this.isClosed) return;
    this.drainState = 'told';
    this.writer.goaway(WINDOW_MAX, ErrorCode.NO_ERROR);
    this.writer.frame(FrameType.PING, { flags: 0, streamId: 0, payload: DRAIN_PING });
    this.tellOutput();
  }

  /** Answers calls whose deadline has come; whether there are others that have one. */
  endLate(nowMs: number): boolean {
    let isWaiting = false;
    for (const stream of this.streams.values()) if (stream.handler?.endIfLate?.(nowMs) === true) isWaiting = true;
    return isWaiting;
  }

  /** For a peer that does not answer the ping: tells it which stream was the last. */
  finishDrain(): void {
    if (this.drainState !== 'told' || this.isClosed) return;
    this.drainState = 'last';
    this.writer.goaway(this.lastStreamId, ErrorCode.NO_ERROR);
    this.tellOutput();
  }

  /** Nothing is sent after this, whatever comes. */
  close(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    for (const stream of this.streams.values()) stream.handler?.onReset(ErrorCode.CANCEL);
    this.streams.clear();
    this.blocked.clear();
  }

  fail({ code, message }: ConnectionError): void {
    if (this.isClosed) return;
    this.writer.goaway(this.lastStreamId, code, message);
    this.close();
    this.tellOutput();
  }

  /** Header frames that were made before, by `prepareFrame`, around one message: an answer. */
  answer(stream: Stream, { head, message, trailers }: { readonly head: Buffer; readonly message: Buffer; readonly trailers: Buffer }): void {
    if (!this.isOpen(stream)) return;
    this.writer.prepared(head, stream.id);
    const bytes = MESSAGE_PREFIX_BYTES + message.length;
    if (bytes <= this.sendWindow && bytes <= stream.sendWindow && bytes <= this.peer.frameBytesMax) {
      this.sendWindow -= bytes;
      stream.sendWindow -= bytes;
      this.writer.message(stream.id, message);
      this.writer.prepared(trailers, stream.id);
      this.end(stream);
    } else {
      const prefix = Buffer.alloc(MESSAGE_PREFIX_BYTES);
      prefix.writeUInt32BE(message.length, 1);
      this.send(stream, Buffer.concat([prefix, message]));
      this.endWith(stream, trailers.subarray(FRAME_HEADER_BYTES));
    }
    this.tellOutput();
  }

  /** A header frame that was made before and ends the stream. */
  answerAtOnce(stream: Stream, head: Buffer): void {
    if (!this.isOpen(stream)) return;
    this.writer.prepared(head, stream.id);
    this.end(stream);
    this.tellOutput();
  }

  sendHeaders(stream: Stream, block: Buffer, { endStream }: { readonly endStream: boolean }): void {
    if (!this.isOpen(stream)) return;
    this.writer.headers(stream.id, block, { endStream, frameBytesMax: this.peer.frameBytesMax });
    if (endStream) this.end(stream);
    this.tellOutput();
  }

  /** Keeps `data`, and sends it as the windows allow. Answers the bytes that wait. */
  send(stream: Stream, data: Buffer): number {
    if (!this.isOpen(stream)) return 0;
    const outbox = (stream.outbox ??= { chunks: [], bytes: 0, trailers: undefined });
    outbox.chunks.push(data);
    outbox.bytes += data.length;
    this.pump(stream);
    return outbox.bytes;
  }

  /** Trailers after all that waits; without any (an empty block) the last DATA is the end. */
  endWith(stream: Stream, trailers: Buffer): void {
    if (!this.isOpen(stream)) return;
    const outbox = (stream.outbox ??= { chunks: [], bytes: 0, trailers: undefined });
    outbox.trailers = trailers;
    this.pump(stream);
  }

  reset(stream: Stream, code: ErrorCode): void {
    if (!this.isOpen(stream)) return;
    this.writer.reset(stream.id, code);
    this.forget(stream);
    this.remember(stream.id);
    this.tellOutput();
  }

  /** So many bytes of a stream's DATA have been taken: the peer may send as many more. */
  consume(stream: Stream, bytes: number): void {
    // Of one that is closed everything has been given back already.
    if (!this.isOpen(stream)) return;
    stream.unconsumed -= bytes;
    this.consumeOnConnection(bytes);
    if (stream.remoteEnded) return;
    stream.consumed += bytes;
    if (stream.consumed < STREAM_WINDOW / 2) return;
    this.writer.windowUpdate(stream.id, stream.consumed);
    stream.consumed = 0;
    this.tellOutput();
  }

  /** A call goes on although its stream does not; to be called again, with -1, when it is over. */
  countOrphan(change: 1 | -1): void {
    this.orphans += change;
  }

  private isOpen(stream: Stream): boolean {
    return !this.isClosed && this.streams.get(stream.id) === stream;
  }

  private onFrame(frame: Frame): void {
    if (this.isClosed) return;
    try {
      this.handle(frame);
    } catch (error) {
      if (!(error instanceof StreamError)) throw error;
      this.failStream(error);
    }
  }

  private handle(frame: Frame): void {
    const { type, streamId } = frame;
    if (!this.hasSettings && type !== FrameType.SETTINGS) throw protocolError('the first frame is not SETTINGS');
    if (this.headersOf !== undefined && (type !== FrameType.CONTINUATION || streamId !== this.headersOf.streamId)) {
      throw protocolError('a header block was not finished');
    }
    switch (type) {
      case FrameType.DATA:
        this.onData(frame);
        return;
      case FrameType.HEADERS:
        this.onHeaders(frame);
        return;
      case FrameType.PRIORITY:
        this.onPriority(frame);
        return;
      case FrameType.RST_STREAM:
        this.onReset(frame);
        return;
      case FrameType.SETTINGS:
        this.onSettings(frame);
        return;
      case FrameType.PUSH_PROMISE:
        throw protocolError('PUSH_PROMISE from a client');
      case FrameType.PING:
        this.onPing(frame);
        return;
      case FrameType.GOAWAY:
        checkLength(frame, (length) => length >= 8);
        if (streamId !== 0) throw protocolError('GOAWAY of a stream');
        this.useControl();
        return;
      case FrameType.WINDOW_UPDATE:
        this.onWindowUpdate(frame);
        return;
      case FrameType.CONTINUATION:
        this.onContinuation(frame);
        return;
      default:
        this.useControl();
    }
  }

  private onData(frame: Frame): void {
    const { streamId, flags, bytes } = frame;
    if (streamId === 0) throw protocolError('DATA without a stream');
    const size = frame.end - frame.start;
    this.receiveWindow -= size;
    if (this.receiveWindow < 0) throw new ConnectionError(ErrorCode.FLOW_CONTROL_ERROR, 'more DATA than the connection has a window for');
    const { start, end } = unpad(frame);
    const endStream = (flags & Flag.END_STREAM) !== 0;
    if (start === end && !endStream) this.useControl();
    const stream = this.streams.get(streamId);
    if (stream === undefined) {
      this.consumeOnConnection(size);
      this.checkEnded(streamId);
      return;
    }
    stream.unconsumed += size;
    if (stream.remoteEnded) throw new StreamError(streamId, ErrorCode.STREAM_CLOSED, 'DATA after the end');
    if (stream.unconsumed + stream.consumed > STREAM_WINDOW) throw new StreamError(streamId, ErrorCode.FLOW_CONTROL_ERROR, 'more DATA than the stream has a window for');
    stream.received += end - start;
    if (endStream) this.endRemote(stream);
    if (size > end - start) this.consume(stream, size - (end - start));
    if (end > start) stream.handler?.onData(bytes, start, end);
    if (endStream) stream.handler?.onEnd();
  }

  private onHeaders(frame: Frame): void {
    const { streamId, flags, bytes } = frame;
    if (streamId % 2 === 0) throw protocolError('HEADERS of a stream that is not for clients');
    const { start, end } = unpad(frame);
    const priorityBytes = flags & Flag.PRIORITY ? 5 : 0;
    if (end - start < priorityBytes) throw protocolError('HEADERS shorter than their priority');
    const dependsOnItself = priorityBytes > 0 && readUint31(bytes, start) === streamId;
    const endStream = (flags & Flag.END_STREAM) !== 0;
    this.headersOf = { streamId, endStream };
    if (flags & Flag.END_HEADERS) {
      this.headersOf = undefined;
      this.onHead(this.headerBlocks.decode(bytes, start + priorityBytes, end), { streamId, endStream, dependsOnItself });
    } else {
      this.headerBlocks.begin(bytes, start + priorityBytes, end);
    }
  }

  private onContinuation({ streamId, flags, bytes, start, end }: Frame): void {
    const begun = this.headersOf;
    if (begun === undefined) throw protocolError('CONTINUATION of nothing');
    this.headerBlocks.append(bytes, start, end);
    if ((flags & Flag.END_HEADERS) === 0) return;
    this.headersOf = undefined;
    this.onHead(this.headerBlocks.finish(), { streamId, endStream: begun.endStream, dependsOnItself: false });
  }

  private onHead(head: RequestHead, { streamId, endStream, dependsOnItself }: { streamId: number; endStream: boolean; dependsOnItself: boolean }): void {
    const known = this.streams.get(streamId);
    if (known !== undefined) {
      this.onTrailers(known, head, endStream);
      return;
    }
    if (streamId <= this.lastStreamId) {
      if (streamId > this.skippedBefore.from && streamId < this.skippedBefore.to) throw protocolError('HEADERS of a stream that was left out');
      this.checkEnded(streamId);
      return;
    }
    // After the last GOAWAY the peer knows that nobody looks at these.
    if (this.drainState === 'last') return;
    if (streamId > this.lastStreamId + 2) this.skippedBefore = { from: this.lastStreamId, to: streamId };
    this.lastStreamId = streamId;
    if (dependsOnItself) throw new StreamError(streamId, ErrorCode.PROTOCOL_ERROR, 'a stream that depends on itself');
    if (head.kind === 'malformed' || (head.isTrailers && head.kind !== 'too_large')) throw new StreamError(streamId, ErrorCode.PROTOCOL_ERROR, 'a malformed request');
    if (this.load >= STREAMS_MAX) throw new StreamError(streamId, ErrorCode.REFUSED_STREAM, 'too many streams');
    const stream = new Stream(streamId, this.peer.initialWindow, head.contentLength);
    this.streams.set(streamId, stream);
    if (endStream) this.endRemote(stream);
    stream.handler = this.options.open(this, stream, head);
    if (endStream) stream.handler.onEnd();
  }

  private onTrailers(stream: Stream, head: RequestHead, endStream: boolean): void {
    if (stream.remoteEnded) throw new StreamError(stream.id, ErrorCode.STREAM_CLOSED, 'HEADERS after the end');
    if (!endStream || !head.isTrailers || head.kind === 'malformed') throw new StreamError(stream.id, ErrorCode.PROTOCOL_ERROR, 'malformed trailers');
    this.endRemote(stream);
    stream.handler?.onEnd();
  }

  private endRemote(stream: Stream): void {
    stream.remoteEnded = true;
    if (stream.contentLength !== undefined && stream.contentLength !== stream.received) {
      throw new StreamError(stream.id, ErrorCode.PROTOCOL_ERROR, 'content-length is not what was sent');
    }
  }

  private onPriority(frame: Frame): void {
    const { streamId, bytes, start, end } = frame;
    if (streamId === 0) throw protocolError('PRIORITY without a stream');
    this.useControl();
    if (end - start !== 5) throw new StreamError(streamId, ErrorCode.FRAME_SIZE_ERROR, 'PRIORITY of an odd length');
    if (readUint31(bytes, start) === streamId) throw new StreamError(streamId, ErrorCode.PROTOCOL_ERROR, 'a stream that depends on itself');
  }

  private onReset(frame: Frame): void {
    const { streamId } = frame;
    checkLength(frame, (length) => length === 4);
    this.checkNotIdle(streamId);
    const stream = this.streams.get(streamId);
    this.useReset();
    if (stream === undefined) return;
    this.forget(stream);
    stream.handler?.onReset(ErrorCode.CANCEL);
  }

  private onSettings(frame: Frame): void {
    const { streamId, flags } = frame;
    if (streamId !== 0) throw protocolError('SETTINGS of a stream');
    if (flags & Flag.ACK) {
      checkLength(frame, (length) => length === 0);
      this.useControl();
      return;
    }
    this.useControl();
    this.hasSettings = true;
    const before = this.peer.initialWindow;
    this.peer.apply(frame);
    this.writer.frame(FrameType.SETTINGS, { flags: Flag.ACK, streamId: 0, payload: NO_BYTES });
    this.tellOutput();
    if (this.peer.initialWindow !== before) this.moveWindows(this.peer.initialWindow - before);
  }

  private moveWindows(change: number): void {
    for (const stream of [...this.streams.values()]) {
      stream.sendWindow += change;
      if (stream.sendWindow > WINDOW_MAX) throw new ConnectionError(ErrorCode.FLOW_CONTROL_ERROR, 'a window of over 2^31 - 1');
      this.pump(stream);
    }
  }

  private onPing(frame: Frame): void {
    const { streamId, flags, bytes, start, end } = frame;
    if (streamId !== 0) throw protocolError('PING of a stream');
    checkLength(frame, (length) => length === PING_BYTES);
    this.useControl();
    const payload = bytes.subarray(start, end);
    if ((flags & Flag.ACK) === 0) {
      this.writer.frame(FrameType.PING, { flags: Flag.ACK, streamId: 0, payload });
      this.tellOutput();
    } else if (payload.equals(DRAIN_PING)) {
      this.finishDrain();
    }
  }

  private onWindowUpdate(frame: Frame): void {
    const { streamId, bytes, start } = frame;
    checkLength(frame, (length) => length === 4);
    this.useControl();
    const increment = readUint31(bytes, start);
    if (streamId === 0) {
      if (increment === 0) throw protocolError('WINDOW_UPDATE by 0');
      this.sendWindow += increment;
      if (this.sendWindow > WINDOW_MAX) throw new ConnectionError(ErrorCode.FLOW_CONTROL_ERROR, 'a window of over 2^31 - 1');
      for (const stream of [...this.blocked]) this.pump(stream);
      return;
    }
    this.checkNotIdle(streamId);
    const stream = this.streams.get(streamId);
    if (increment === 0) throw new StreamError(streamId, ErrorCode.PROTOCOL_ERROR, 'WINDOW_UPDATE by 0');
    if (stream === undefined) return;
    stream.sendWindow += increment;
    if (stream.sendWindow > WINDOW_MAX) throw new StreamError(streamId, ErrorCode.FLOW_CONTROL_ERROR, 'a window of over 2^31 - 1');
    this.pump(stream);
  }

  /** Sends of a stream's outbox what the windows allow. */
  private pump(stream: Stream): void {
    const { outbox } = stream;
    if (outbox === undefined) return;
    const { chunks } = outbox;
    for (let chunk = chunks[0]; chunk !== undefined; chunk = chunks[0]) {
      const allowed = Math.min(chunk.length, this.sendWindow, stream.sendWindow, this.peer.frameBytesMax);
      if (allowed <= 0 && chunk.length > 0) break;
      this.writer.frame(FrameType.DATA, { flags: 0, streamId: stream.id, payload: chunk.subarray(0, allowed) });
      this.sendWindow -= allowed;
      stream.sendWindow -= allowed;
      outbox.bytes -= allowed;
      if (allowed === chunk.length) chunks.shift();
      else chunks[0] = chunk.subarray(allowed);
      this.progressMs = this.options.nowMs();
      this.tellOutput();
    }
    if (chunks.length > 0) {
      // The clock of a stream that waits runs from now on, not from when the connection last waited.
      if (this.blocked.size === 0) this.progressMs = this.options.nowMs();
      this.blocked.add(stream);
      return;
    }
    this.blocked.delete(stream);
    if (outbox.trailers !== undefined) this.finish(stream, outbox.trailers);
    else stream.handler?.onDrained?.();
  }

  private finish(stream: Stream, trailers: Buffer): void {
    if (trailers.length === 0) this.writer.frame(FrameType.DATA, { flags: Flag.END_STREAM, streamId: stream.id, payload: NO_BYTES });
    else this.writer.headers(stream.id, trailers, { endStream: true, frameBytesMax: this.peer.frameBytesMax });
    this.end(stream);
    this.tellOutput();
  }

  /** Our side has ended. A peer that still sends is told that nobody listens. */
  private end(stream: Stream): void {
    this.control.earn(CONTROL_PER_CALL);
    if (!stream.remoteEnded) {
      this.writer.reset(stream.id, ErrorCode.NO_ERROR);
      this.remember(stream.id);
    }
    this.forget(stream);
  }

  private failStream({ streamId, code }: StreamError): void {
    this.useReset();
    const stream = this.streams.get(streamId);
    this.writer.reset(streamId, code);
    this.remember(streamId);
    this.tellOutput();
    if (stream === undefined) return;
    this.forget(stream);
    stream.handler?.onReset(code);
  }

  private forget(stream: Stream): void {
    this.streams.delete(stream.id);
    this.blocked.delete(stream);
    if (stream.unconsumed > 0) this.consumeOnConnection(stream.unconsumed);
    stream.unconsumed = 0;
  }

  private remember(streamId: number): void {
    this.ended.add(streamId);
    if (this.ended.size <= ENDED_MAX) return;
    const [oldest = 0] = this.ended;
    this.ended.delete(oldest);
  }

  /** Frames of a stream that we have ended may have been on their way; others may not come. */
  private checkEnded(streamId: number): void {
    this.useControl();
    if (this.isAfterLast(streamId)) return;
    this.checkNotIdle(streamId);
    if (!this.ended.has(streamId)) throw new ConnectionError(ErrorCode.STREAM_CLOSED, 'a frame of a stream that is closed');
  }

  private checkNotIdle(streamId: number): void {
    if (this.isAfterLast(streamId)) return;
    if (streamId === 0 || streamId % 2 === 0 || streamId > this.lastStreamId) throw protocolError('a frame of a stream that has not begun');
  }

  /** A stream that the last GOAWAY has told the peer not to count on. */
  private isAfterLast(streamId: number): boolean {
    return this.drainState === 'last' && streamId % 2 === 1 && streamId > this.lastStreamId;
  }

  private consumeOnConnection(bytes: number): void {
    this.consumed += bytes;
    if (this.consumed < CONNECTION_WINDOW / 2 || this.isClosed) return;
    this.writer.windowUpdate(0, this.consumed);
    this.receiveWindow += this.consumed;
    this.consumed = 0;
    this.tellOutput();
  }

  private useControl(): void {
    if (!this.control.use()) throw new ConnectionError(ErrorCode.ENHANCE_YOUR_CALM, 'too many frames that ask for nothing');
  }

  private useReset(): void {
    if (!this.resets.use()) throw new ConnectionError(ErrorCode.ENHANCE_YOUR_CALM, 'too many streams reset or refused');
  }

  private tellOutput(): void {
    if (this.outputTold) return;
    this.outputTold = true;
    this.options.onOutput(this);
  }
}

function unpad({ flags, bytes, start, end }: Frame): { start: number; end: number } {
  if ((flags & Flag.PADDED) === 0) return { start, end };
  const padding = bytes[start] ?? 0;
  if (start >= end || padding >= end - start) throw protocolError('more padding than frame');
  return { start: start + 1, end: end - padding };
}

function checkLength({ start, end }: Frame, isRight: (length: number) => boolean): void {
  if (!isRight(end - start)) throw new ConnectionError(ErrorCode.FRAME_SIZE_ERROR, `a frame of ${end - start} bytes, which its type does not have`);
}

function protocolError(reason: string): ConnectionError {
  return new ConnectionError(ErrorCode.PROTOCOL_ERROR, reason);
}
