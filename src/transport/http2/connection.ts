/** One connection of a server: takes frames, keeps the rules of HTTP/2 and the bounds, and gives streams to those who answer them. */

import { ConnectionError, ErrorCode } from './errors';
import { FloodGuard } from './flood-guard';
import { FrameParser, FrameType } from './frames';
import { WINDOW_MAX } from './peer-settings';
import { CONNECTION_WINDOW_EXTRA, ReceiveWindows } from './receive-windows';
import { ownSettings } from './own-settings';
import { Receiver } from './receiver';
import type { RequestHead } from './request-head';
import { Sender, type PreparedAnswer } from './sender';
import type { Stream, StreamHandler } from './stream';
import { StreamTable } from './stream-table';

/** Nobody else pings with this: its answer says that the peer knows of the drain. */
const DRAIN_PING = Buffer.from('weirgone', 'latin1');

/** Whatever comes after it says that the peer is there. */
const KEEPALIVE_PING = Buffer.from('weirlive', 'latin1');

/** Streams at once, unless it is said otherwise. */
export const STREAMS_MAX = 1024;

export interface ConnectionOptions {
  /** Who answers a stream. It may do so at once. */
  readonly open: (connection: Connection, stream: Stream, head: RequestHead) => StreamHandler;
  /** There is something to write, called once until `takeOutput` (at first there is, and it is not called); or the last call is over. */
  readonly onOutput: (connection: Connection) => void;
  /** Told what should not happen; the connection is over. */
  readonly onFault: (error: unknown) => void;
  /** The peer has broken a rule or a bound (or there was a fault), and the connection is over. */
  readonly onFail?: (error: ConnectionError) => void;
  /** A stream beyond `streamsMax` was refused. */
  readonly onRefused?: () => void;
  readonly streamsMax?: number;
  readonly nowMs: () => number;
}

export class Connection {
  /** No more frames are taken; what is left to write is the last. */
  isClosed = false;
  private readonly parser = new FrameParser((frame) => {
    if (!this.isClosed) this.receiver.take(frame);
  });
  private readonly streams = new StreamTable();
  private readonly sender: Sender;
  private readonly windows = new ReceiveWindows((streamId, bytes) => {
    if (!this.isClosed) this.sender.windowUpdate(streamId, bytes);
  });
  private readonly floods: FloodGuard;
  private readonly receiver: Receiver;
  private isDrainTold = false;

  constructor(private readonly options: ConnectionOptions) {
    const { streamsMax = STREAMS_MAX } = options;
    this.floods = new FloodGuard(options.nowMs);
    this.sender = new Sender({
      nowMs: options.nowMs,
      onOutput: () => {
        options.onOutput(this);
      },
      onEnd: (stream) => {
        this.end(stream);
      },
    });
    this.receiver = new Receiver({
      streams: this.streams,
      sender: this.sender,
      windows: this.windows,
      floods: this.floods,
      streamsMax,
      onRefused: () => options.onRefused?.(),
      open: (stream, head) => options.open(this, stream, head),
      forget: (stream) => {
        this.forget(stream);
      },
      onPingAnswer: (payload) => {
        if (payload.equals(DRAIN_PING)) this.finishDrain();
      },
    });
    // At once: many clients say nothing before they have it.
    this.sender.control(FrameType.SETTINGS, 0, ownSettings(streamsMax));
    this.sender.windowUpdate(0, CONNECTION_WINDOW_EXTRA);
  }

  /** Whether the peer has said that it speaks HTTP/2. */
  get hasSettings(): boolean {
    return this.receiver.hasSettings;
  }

  /** Streams that are open, and calls that outlived theirs. */
  get load(): number {
    return this.streams.load;
  }

  /** Whether the peer has been told which stream was the last. */
  get isDrained(): boolean {
    return this.streams.isComplete;
  }

  /** Whether something waits for a window of the peer's. */
  get isBlocked(): boolean {
    return this.sender.isBlocked;
  }

  /** When the peer last let us send something that waited for it, or nothing waited. */
  get progressMs(): number {
    return this.sender.progressMs;
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
    return this.sender.take();
  }

  /**
   * Tells the peer to open no more streams; those that it opens before it knows are answered. It knows once it answers
   * the ping, and then it is told which stream was the last.
   */
  startDrain(): void {
    if (this.isDrainTold || this.isClosed) return;
    this.isDrainTold = true;
    this.sender.goaway(WINDOW_MAX, ErrorCode.NO_ERROR);
    this.sender.control(FrameType.PING, 0, DRAIN_PING);
  }

  /** Answers calls whose deadline has come, and answers when that of the first of the others will; Infinity: none has one. */
  endLate(nowMs: number): number {
    let nextMs = Infinity;
    for (const stream of this.streams.values()) nextMs = Math.min(nextMs, stream.handler?.endIfLate?.(nowMs) ?? Infinity);
    return nextMs;
  }

  /** For a peer that does not answer the ping: tells it which stream was the last. */
  finishDrain(): void {
    if (!this.isDrainTold || this.isDrained || this.isClosed) return;
    this.streams.isComplete = true;
    this.sender.goaway(this.streams.lastId, ErrorCode.NO_ERROR);
  }

  /** The peer sends nothing any more: a request that is not whole never will be. */
  endInput(): void {
    for (const stream of [...this.streams.values()]) {
      if (stream.remoteEnded) continue;
      this.reset(stream, ErrorCode.CANCEL);
      stream.handler?.onReset(ErrorCode.CANCEL);
    }
  }

  /** Asks a peer that has been silent for a sign of life. */
  ping(): void {
    if (!this.isClosed) this.sender.control(FrameType.PING, 0, KEEPALIVE_PING);
  }

  /** Nothing is sent after this, whatever comes. */
  close(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    for (const stream of this.streams.values()) stream.handler?.onReset(ErrorCode.CANCEL);
    this.streams.clear();
    this.sender.forgetAll();
  }

  fail(error: ConnectionError): void {
    if (this.isClosed) return;
    this.sender.goaway(this.streams.lastId, error.code, error.message);
    this.close();
    this.options.onFail?.(error);
  }

  answer(stream: Stream, answer: PreparedAnswer): void {
    if (this.isOpen(stream)) this.sender.answer(stream, answer);
  }

  /** A header frame that was made before and ends the stream. */
  answerAtOnce(stream: Stream, head: Buffer): void {
    if (this.isOpen(stream)) this.sender.answerAtOnce(stream, head);
  }

  sendHeaders(stream: Stream, block: Buffer, options: { readonly endStream: boolean }): void {
    if (this.isOpen(stream)) this.sender.headers(stream, block, options);
  }

  /** Keeps `data`, and sends it as the windows allow. Answers the bytes that wait. */
  send(stream: Stream, data: Buffer): number {
    return this.isOpen(stream) ? this.sender.send(stream, data) : 0;
  }

  /** Trailers after all that waits; without any (an empty block) the last DATA is the end. */
  endWith(stream: Stream, trailers: Buffer): void {
    if (this.isOpen(stream)) this.sender.endWith(stream, trailers);
  }

  reset(stream: Stream, code: ErrorCode): void {
    if (!this.isOpen(stream)) return;
    this.sender.reset(stream.id, code);
    this.forget(stream);
    this.streams.remember(stream.id);
  }

  /** So many bytes of a stream's DATA have been taken: the peer may send as many more. */
  consume(stream: Stream, bytes: number): void {
    // Of one that is closed everything has been given back already.
    if (this.isOpen(stream)) this.windows.consume(stream, bytes);
  }

  /** A call goes on although its stream does not; to be called again, with -1, when it is over. */
  countOrphan(change: 1 | -1): void {
    this.streams.countOrphan(change);
    // There is nothing to say, but a peer that has ended its side, or is drained, waited for this alone.
    if (!this.isClosed && this.load === 0) this.options.onOutput(this);
  }

  private isOpen(stream: Stream): boolean {
    return !this.isClosed && stream.isOpen;
  }

  /** Our side has ended. A peer that still sends is told that nobody listens. */
  private end(stream: Stream): void {
    this.floods.earn();
    if (!stream.remoteEnded) {
      this.sender.reset(stream.id, ErrorCode.NO_ERROR);
      this.streams.remember(stream.id);
    }
    this.forget(stream);
  }

  private forget(stream: Stream): void {
    this.streams.delete(stream);
    this.sender.forget(stream);
    this.windows.forget(stream);
  }
}
