/** The receive windows: counts DATA against them, and returns window for consumed bytes. */

import { ConnectionError, ErrorCode, StreamError } from '../frames/errors';
import type { Stream } from './stream';

/** HTTP/2's default for a stream. The connection's window is larger, so a WINDOW_UPDATE announces it. */
const STREAM_WINDOW = 65_535;
const CONNECTION_WINDOW = 1024 * 1024;
const CONNECTION_WINDOW_DEFAULT = 65_535;

/** The WINDOW_UPDATE sent at the start. */
export const CONNECTION_WINDOW_EXTRA = CONNECTION_WINDOW - CONNECTION_WINDOW_DEFAULT;

export class ReceiveWindows {
  private left = CONNECTION_WINDOW;
  private consumed = 0;

  /** `widen` sends a WINDOW_UPDATE; stream 0 is the connection. */
  constructor(private readonly widen: (streamId: number, bytes: number) => void) {}

  /** @throws ConnectionError FLOW_CONTROL_ERROR */
  receive(bytes: number): void {
    this.left -= bytes;
    if (this.left < 0) throw new ConnectionError(ErrorCode.FLOW_CONTROL_ERROR, 'DATA exceeds the window of the connection');
  }

  /** @throws StreamError */
  receiveOf(stream: Stream, bytes: number): void {
    stream.unconsumed += bytes;
    if (stream.remoteEnded) throw new StreamError(stream.id, ErrorCode.STREAM_CLOSED, 'DATA after END_STREAM');
    if (stream.unconsumed + stream.consumed > STREAM_WINDOW)
      throw new StreamError(stream.id, ErrorCode.FLOW_CONTROL_ERROR, 'DATA exceeds the window of the stream');
  }

  /** Returns window for consumed bytes of an open stream. */
  consume(stream: Stream, bytes: number): void {
    stream.unconsumed -= bytes;
    this.consumeOfNone(bytes);
    if (stream.remoteEnded) return;
    stream.consumed += bytes;
    if (stream.consumed < STREAM_WINDOW / 2) return;
    this.widen(stream.id, stream.consumed);
    stream.consumed = 0;
  }

  /** Returns window for bytes of a stream that is no longer open. */
  consumeOfNone(bytes: number): void {
    this.consumed += bytes;
    if (this.consumed < CONNECTION_WINDOW / 2) return;
    this.widen(0, this.consumed);
    this.left += this.consumed;
    this.consumed = 0;
  }

  /** The stream is over: returns the connection window of its unconsumed bytes. */
  forget(stream: Stream): void {
    if (stream.unconsumed > 0) this.consumeOfNone(stream.unconsumed);
    stream.unconsumed = 0;
  }
}
