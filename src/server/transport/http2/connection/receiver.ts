/** Handles received frames: the rules of HTTP/2 for each frame type, and the effect on its stream. */

import { ErrorCode, StreamError } from '../frames/errors';
import type { FloodGuard } from './flood-guard';
import { checkLength, protocolError, unpad } from '../frames/frame-checks';
import { Flag, FrameType, readUint31, type Frame } from '../frames/frames';
import { HeaderBlocks } from './header-blocks';
import type { ReceiveWindows } from './receive-windows';
import type { RequestHead } from './request-head';
import type { Sender } from './sender';
import { Stream, type StreamHandler } from './stream';
import type { StreamTable } from './stream-table';

const PING_BYTES = 8;

/** Changing the windows of this many streams costs about as much as another frame. */
const STREAMS_OF_A_FRAME = 32;

export interface ReceiverParts {
  readonly streams: StreamTable;
  readonly sender: Sender;
  readonly windows: ReceiveWindows;
  readonly floods: FloodGuard;
  /** Maximum of concurrent streams. A reset stream counts until its work is done. */
  readonly streamsMax: number;
  readonly onRefused: () => void;
  /** Returns the handler of a stream. It may answer at once. */
  readonly open: (stream: Stream, head: RequestHead) => StreamHandler;
  /** The stream is over, and its state can be dropped. */
  readonly forget: (stream: Stream) => void;
  readonly onPingAnswer: (payload: Buffer) => void;
}

export class Receiver {
  hasSettings = false;
  private readonly headerBlocks = new HeaderBlocks();
  /** The HEADERS frame whose block was completed last, or is continued. */
  private readonly begun = { streamId: 0, endStream: false, dependsOnItself: false };

  constructor(private readonly parts: ReceiverParts) {}

  /** @throws ConnectionError if the connection must end, and errors of stream handlers */
  take(frame: Frame): void {
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
    if (this.headerBlocks.isOpen && (type !== FrameType.CONTINUATION || streamId !== this.begun.streamId)) {
      throw protocolError('a header block is incomplete');
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
        if (streamId !== 0) throw protocolError('GOAWAY with a stream id');
        this.parts.floods.useControl();
        return;
      case FrameType.WINDOW_UPDATE:
        this.onWindowUpdate(frame);
        return;
      case FrameType.CONTINUATION:
        this.onContinuation(frame);
        return;
      default:
        this.parts.floods.useControl();
    }
  }

  private onData(frame: Frame): void {
    const { streamId, flags, bytes } = frame;
    if (streamId === 0) throw protocolError('DATA without a stream id');
    const size = frame.end - frame.start;
    this.parts.windows.receive(size);
    unpad(frame);
    const { start, end } = frame;
    const endStream = (flags & Flag.END_STREAM) !== 0;
    if (start === end && !endStream) this.parts.floods.useControl();
    const stream = this.parts.streams.get(streamId);
    if (stream === undefined) {
      this.parts.windows.consumeOfNone(size);
      this.onFrameOfEnded(streamId);
      return;
    }
    this.parts.windows.receiveOf(stream, size);
    stream.received += end - start;
    if (endStream) this.endRemote(stream);
    if (size > end - start) this.parts.windows.consume(stream, size - (end - start));
    if (end > start) stream.handler?.onData(bytes, start, end);
    if (endStream) stream.handler?.onEnd();
  }

  private onHeaders(frame: Frame): void {
    const { streamId, flags, bytes } = frame;
    if (streamId % 2 === 0) throw protocolError('HEADERS with an even stream id');
    unpad(frame);
    const { start, end } = frame;
    const priorityBytes = flags & Flag.PRIORITY ? 5 : 0;
    if (end - start < priorityBytes) throw protocolError('HEADERS shorter than their priority');
    const { begun, headerBlocks } = this;
    begun.streamId = streamId;
    begun.endStream = (flags & Flag.END_STREAM) !== 0;
    begun.dependsOnItself = priorityBytes > 0 && readUint31(bytes, start) === streamId;
    if (flags & Flag.END_HEADERS) this.onHead(headerBlocks.decode(bytes, start + priorityBytes, end));
    else headerBlocks.begin(bytes, start + priorityBytes, end);
  }

  private onContinuation({ flags, bytes, start, end }: Frame): void {
    if (!this.headerBlocks.isOpen) throw protocolError('CONTINUATION without HEADERS');
    this.headerBlocks.append(bytes, start, end);
    if (flags & Flag.END_HEADERS) this.onHead(this.headerBlocks.finish());
  }

  /** The header block is complete. */
  private onHead(head: RequestHead): void {
    const { streamId, endStream, dependsOnItself } = this.begun;
    const known = this.parts.streams.get(streamId);
    if (known !== undefined) {
      this.onTrailers(known, head, endStream);
      return;
    }
    if (streamId <= this.parts.streams.lastId) {
      this.parts.streams.checkNotSkipped(streamId);
      this.onFrameOfEnded(streamId);
      return;
    }
    // After the final GOAWAY the peer knows that later streams are ignored.
    if (this.parts.streams.isComplete) return;
    this.parts.streams.begin(streamId);
    if (dependsOnItself) throw new StreamError(streamId, ErrorCode.PROTOCOL_ERROR, 'a stream that depends on itself');
    if (head.kind === 'malformed' || (head.isTrailers && head.kind !== 'too_large'))
      throw new StreamError(streamId, ErrorCode.PROTOCOL_ERROR, 'a malformed request');
    if (this.parts.streams.load >= this.parts.streamsMax) {
      this.parts.onRefused();
      throw new StreamError(streamId, ErrorCode.REFUSED_STREAM, 'too many streams');
    }
    const stream = new Stream(streamId, this.parts.sender.initialWindow, head.contentLength);
    this.parts.streams.open(stream);
    if (endStream) this.endRemote(stream);
    stream.handler = this.parts.open(stream, head);
    if (endStream) stream.handler.onEnd();
  }

  private onTrailers(stream: Stream, head: RequestHead, endStream: boolean): void {
    if (stream.remoteEnded) throw new StreamError(stream.id, ErrorCode.STREAM_CLOSED, 'HEADERS after END_STREAM');
    if (!endStream || !head.isTrailers || head.kind === 'malformed')
      throw new StreamError(stream.id, ErrorCode.PROTOCOL_ERROR, 'malformed trailers');
    this.endRemote(stream);
    stream.handler?.onEnd();
  }

  private endRemote(stream: Stream): void {
    stream.remoteEnded = true;
    if (stream.contentLength !== undefined && stream.contentLength !== stream.received) {
      throw new StreamError(stream.id, ErrorCode.PROTOCOL_ERROR, 'content-length differs from the received bytes');
    }
  }

  private onPriority(frame: Frame): void {
    const { streamId, bytes, start, end } = frame;
    if (streamId === 0) throw protocolError('PRIORITY without a stream id');
    this.parts.floods.useControl();
    if (end - start !== 5) throw new StreamError(streamId, ErrorCode.FRAME_SIZE_ERROR, 'PRIORITY of a wrong length');
    if (readUint31(bytes, start) === streamId) throw new StreamError(streamId, ErrorCode.PROTOCOL_ERROR, 'a stream that depends on itself');
  }

  private onReset(frame: Frame): void {
    const { streamId } = frame;
    checkLength(frame, (length) => length === 4);
    this.parts.streams.checkNotIdle(streamId);
    const stream = this.parts.streams.get(streamId);
    this.parts.floods.useReset();
    if (stream === undefined) return;
    this.parts.forget(stream);
    stream.handler?.onReset(ErrorCode.CANCEL);
  }

  private onSettings(frame: Frame): void {
    const { streamId, flags } = frame;
    if (streamId !== 0) throw protocolError('SETTINGS with a stream id');
    if (flags & Flag.ACK) {
      checkLength(frame, (length) => length === 0);
      this.parts.floods.useControl();
      return;
    }
    this.parts.floods.useControl();
    this.hasSettings = true;
    const moved = this.parts.sender.applySettings(frame, this.parts.streams.values());
    for (let paid = STREAMS_OF_A_FRAME; paid <= moved; paid += STREAMS_OF_A_FRAME) this.parts.floods.useControl();
    this.payForTinyFrames();
  }

  private onPing(frame: Frame): void {
    const { streamId, flags, bytes, start, end } = frame;
    if (streamId !== 0) throw protocolError('PING with a stream id');
    checkLength(frame, (length) => length === PING_BYTES);
    this.parts.floods.useControl();
    const payload = bytes.subarray(start, end);
    if ((flags & Flag.ACK) === 0) {
      this.parts.sender.control(FrameType.PING, Flag.ACK, payload);
    } else {
      this.parts.onPingAnswer(payload);
    }
  }

  private payForTinyFrames(): void {
    for (let left = this.parts.sender.takeTinyFrames(); left > 0; left -= 1) this.parts.floods.useControl();
  }

  private onWindowUpdate(frame: Frame): void {
    const { streamId, bytes, start } = frame;
    checkLength(frame, (length) => length === 4);
    this.parts.floods.useControl();
    const increment = readUint31(bytes, start);
    if (streamId === 0) {
      if (increment === 0) throw protocolError('WINDOW_UPDATE by 0');
      this.parts.sender.widen(increment);
      this.payForTinyFrames();
      return;
    }
    this.parts.streams.checkNotIdle(streamId);
    const stream = this.parts.streams.get(streamId);
    if (increment === 0) throw new StreamError(streamId, ErrorCode.PROTOCOL_ERROR, 'WINDOW_UPDATE by 0');
    if (stream === undefined) return;
    this.parts.sender.widenOf(stream, increment);
    this.payForTinyFrames();
  }

  private failStream({ streamId, code }: StreamError): void {
    this.parts.floods.useReset();
    const stream = this.parts.streams.get(streamId);
    this.parts.sender.reset(streamId, code);
    this.parts.streams.remember(streamId);
    if (stream === undefined) return;
    this.parts.forget(stream);
    stream.handler?.onReset(code);
  }

  /** A frame of an ended stream counts against the flood guard, whether it is allowed or not. */
  private onFrameOfEnded(streamId: number): void {
    this.parts.floods.useControl();
    this.parts.streams.checkEnded(streamId);
  }
}
