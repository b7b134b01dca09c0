/** What the peer may send before we have taken it: counts DATA against the windows, and gives back what was taken. */

import { ConnectionError, ErrorCode, StreamError } from './errors';
import type { Stream } from './stream';

/** On a stream HTTP/2's default; on all of them together more than that, so the peer has to be told. */
const STREAM_WINDOW = 65_535;
const CONNECTION_WINDOW = 1024 * 1024;
const CONNECTION_WINDOW_DEFAULT = 65_535;

/** What the peer is told at once. */
export const CONNECTION_WINDOW_EXTRA = CONNECTION_WINDOW - CONNECTION_WINDOW_DEFAULT;

export class ReceiveWindows {
  private left = CONNECTION_WINDOW;
  private consumed = 0;

  /** `widen` lets the peer send so many bytes more on a stream; 0: on all of them together. */
  constructor(private readonly widen: (streamId: number, bytes: number) => void) {}

  /** @throws ConnectionError FLOW_CONTROL_ERROR */
  receive(bytes: number): void {
    this.left -= bytes;
    if (this.left < 0) throw new ConnectionError(ErrorCode.FLOW_CONTROL_ERROR, 'more DATA than the connection has a window for');
  }

  /** @throws StreamError */
  receiveOf(stream: Stream, bytes: number): void {
    stream.unconsumed += bytes;
    if (stream.remoteEnded) throw new StreamError(stream.id, ErrorCode.STREAM_CLOSED, 'DATA after the end');
    if (stream.unconsumed + stream.consumed > STREAM_WINDOW) throw new StreamError(stream.id, ErrorCode.FLOW_CONTROL_ERROR, 'more DATA than the stream has a window for');
  }

  /** So many bytes of an open stream have been taken. */
  consume(stream: Stream, bytes: number): void {
    stream.unconsumed -= bytes;
    this.consumeOfNone(bytes);
    if (stream.remoteEnded) return;
    stream.consumed += bytes;
    if (stream.consumed < STREAM_WINDOW / 2) return;
    this.widen(stream.id, stream.consumed);
    stream.consumed = 0;
  }

  /** Bytes of a stream that is not open any more. */
  consumeOfNone(bytes: number): void {
    this.consumed += bytes;
    if (this.consumed < CONNECTION_WINDOW / 2) return;
    this.widen(0, this.consumed);
    this.left += this.consumed;
    this.consumed = 0;
  }

  /** The stream is over: nobody will take what is left of it. */
  forget(stream: Stream): void {
    if (stream.unconsumed > 0) this.consumeOfNone(stream.unconsumed);
    stream.unconsumed = 0;
  }
}
