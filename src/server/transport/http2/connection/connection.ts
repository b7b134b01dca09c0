/** One HTTP/2 connection: takes frames, enforces the protocol and the bounds, and passes streams to their handlers. */

import type { ByteBudget } from '../../byte-budget';
import { ConnectionError, ErrorCode } from '../frames/errors';
import { FloodGuard } from './flood-guard';
import { ENDLESS, FrameParser, FrameType } from '../frames/frames';
import { WINDOW_MAX } from './peer-settings';
import { CONNECTION_WINDOW_EXTRA, ReceiveWindows } from './receive-windows';
import { serverSettings } from './server-settings';
import { Receiver } from './receiver';
import type { RequestHead } from './request-head';
import { Sender, type PreparedAnswer } from './sender';
import type { Stream, StreamHandler } from './stream';
import { StreamTable } from './stream-table';

/** Payload of the drain PING: its answer shows that the peer knows of the drain. */
const DRAIN_PING = Buffer.from('weirgone', 'latin1');

/** Payload of the keepalive PING: any input after it shows that the peer lives. */
const KEEPALIVE_PING = Buffer.from('weirlive', 'latin1');

/** Default maximum of concurrent streams. */
export const STREAMS_MAX = 1024;

export interface ConnectionOptions {
  /** Returns the handler of a stream. It may answer at once. */
  readonly open: (connection: Connection, stream: Stream, head: RequestHead) => StreamHandler;
  /** Called when output appears, or the last call ends; then not again until `takeOutput`. A new connection has output without a call. */
  readonly onOutput: (connection: Connection) => void;
  /** Called with an internal error; the connection is over. */
  readonly onFault: (error: unknown) => void;
  /** The peer broke a rule or a bound (or an internal error occurred), and the connection is over. */
  readonly onFail?: (error: ConnectionError) => void;
  /** A stream beyond `streamsMax` was refused. */
  readonly onRefused?: () => void;
  readonly streamsMax?: number;
  /** Output of all connections that waits for windows of peers. */
  readonly waiting: ByteBudget;
  readonly nowMs: () => number;
}

export class Connection {
  /** No more frames are processed; the remaining output is the last. */
  isClosed = false;
  /** The peer does not read its output: senders should wait (`whenTaken`). */
  isChoked = false;
  private readonly waitingForPeer: (() => void)[] = [];
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
      waiting: options.waiting,
      onUnsent: (stream) => {
        stream.handler?.onReset(ErrorCode.ENHANCE_YOUR_CALM);
        this.reset(stream, ErrorCode.ENHANCE_YOUR_CALM);
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
    // Sent at once, because many clients send nothing before they have it.
    this.sender.control(FrameType.SETTINGS, 0, serverSettings(streamsMax));
    this.sender.windowUpdate(0, CONNECTION_WINDOW_EXTRA);
  }

  /** Whether the peer has sent SETTINGS. */
  get hasSettings(): boolean {
    return this.receiver.hasSettings;
  }

  /** Open streams, and abandoned calls still in progress. */
  get load(): number {
    return this.streams.load;
  }

  /** Whether the peer got the final GOAWAY, with the last stream. */
  get isDrained(): boolean {
    return this.streams.isComplete;
  }

  /** Whether output waits for a window of the peer. */
  get isBlocked(): boolean {
    return this.sender.isBlocked;
  }

  /** When waiting output last progressed, or nothing waited. */
  get progressMs(): number {
    return this.sender.progressMs;
  }

  /** Processes bytes from `start` until the share is spent; returns the position after them. */
  push(chunk: Buffer, start = 0, share = ENDLESS): number {
    if (this.isClosed) return chunk.length;
    try {
      return this.parser.push(chunk, start, share);
    } catch (error) {
      if (error instanceof ConnectionError) {
        this.fail(error);
        return chunk.length;
      }
      // Only this connection ends.
      this.options.onFault(error);
      this.fail(new ConnectionError(ErrorCode.INTERNAL_ERROR, 'internal error'));
      return chunk.length;
    }
  }

  takeOutput(): Buffer {
    return this.sender.take();
  }

  /**
   * Sends the first GOAWAY: streams that the peer opens before it knows are still answered. Its answer to the PING
   * shows that it knows; then the final GOAWAY names the last stream.
   */
  startDrain(): void {
    if (this.isDrainTold || this.isClosed) return;
    this.isDrainTold = true;
    this.sender.goaway(WINDOW_MAX, ErrorCode.NO_ERROR);
    this.sender.control(FrameType.PING, 0, DRAIN_PING);
  }

  /** Answers calls whose deadline has passed. Returns the next deadline, or Infinity. */
  endLate(nowMs: number): number {
    let nextMs = Infinity;
    for (const stream of this.streams.values()) nextMs = Math.min(nextMs, stream.handler?.endIfLate?.(nowMs) ?? Infinity);
    return nextMs;
  }

  /** Sends the final GOAWAY to a peer that does not answer the PING. */
  finishDrain(): void {
    if (!this.isDrainTold || this.isDrained || this.isClosed) return;
    this.streams.isComplete = true;
    this.sender.goaway(this.streams.lastId, ErrorCode.NO_ERROR);
  }

  /** The peer closed its side: incomplete requests stay incomplete. */
  endInput(): void {
    for (const stream of [...this.streams.values()]) {
      if (stream.remoteEnded) continue;
      this.reset(stream, ErrorCode.CANCEL);
      stream.handler?.onReset(ErrorCode.CANCEL);
    }
  }

  /** Sends a keepalive PING. */
  ping(): void {
    if (!this.isClosed) this.sender.control(FrameType.PING, 0, KEEPALIVE_PING);
  }

  /** Nothing is sent after this. */
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

  /** Sends a prebuilt header frame that ends the stream. */
  answerAtOnce(stream: Stream, head: Buffer): void {
    if (this.isOpen(stream)) this.sender.answerAtOnce(stream, head);
  }

  sendHeaders(stream: Stream, block: Buffer, options: { readonly endStream: boolean }): void {
    if (this.isOpen(stream)) this.sender.headers(stream, block, options);
  }

  /** Queues `data` and sends what the windows allow. Returns the bytes that still wait. */
  send(stream: Stream, data: Buffer): number {
    return this.isOpen(stream) ? this.sender.send(stream, data) : 0;
  }

  /** Sends trailers after all queued data; if the block is empty, the last DATA ends the stream. */
  endWith(stream: Stream, trailers: Buffer): void {
    if (this.isOpen(stream)) this.sender.endWith(stream, trailers);
  }

  reset(stream: Stream, code: ErrorCode): void {
    if (!this.isOpen(stream)) return;
    this.sender.reset(stream.id, code);
    this.forget(stream);
    this.streams.remember(stream.id);
  }

  /** Returns window for consumed bytes of a stream's DATA. */
  consume(stream: Stream, bytes: number): void {
    // A closed stream has already returned all of its window.
    if (this.isOpen(stream)) this.windows.consume(stream, bytes);
  }

  /** Calls back once the peer reads its output: at once if it does, never if it is gone. */
  whenTaken(go: () => void): void {
    if (this.isChoked) this.waitingForPeer.push(go);
    else go();
  }

  /** The socket holds too much output that the peer has not read. */
  choke(): void {
    this.isChoked = true;
  }

  /** The peer has read its output. */
  release(): void {
    this.isChoked = false;
    for (const go of this.waitingForPeer.splice(0)) go();
  }

  /** Counts a call that continues after its stream was reset; call again with -1 when it ends. */
  countAbandoned(change: 1 | -1): void {
    this.streams.countAbandoned(change);
    this.notifyIfIdle();
  }

  /** A peer that has closed its side, or is drained, waits only for the last call. */
  private notifyIfIdle(): void {
    if (!this.isClosed && this.load === 0) this.options.onOutput(this);
  }

  private isOpen(stream: Stream): boolean {
    return !this.isClosed && stream.isOpen;
  }

  /** Ends the server's side. A peer that still sends gets a RST_STREAM with NO_ERROR. */
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
    if (this.isDrained) this.notifyIfIdle();
  }
}
