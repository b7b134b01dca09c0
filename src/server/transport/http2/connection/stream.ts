/** One stream: its windows, its waiting data, and its handler. */

import type { ErrorCode } from '../frames/errors';

/** Handles a stream. Bytes belong to the connection: a handler must copy what it keeps. */
export interface StreamHandler {
  onData(bytes: Buffer, start: number, end: number): void;
  /** The peer has sent everything. */
  onEnd(): void;
  /** The stream or the connection is over. Nothing may be sent any more. */
  onReset(code: ErrorCode): void;
  /** All waiting data was sent. */
  onDrained?(): void;
  /** Answers the call if its deadline has passed. Returns the deadline if the call still waits for it. */
  endIfLate?(nowMs: number): number | undefined;
}

/** DATA that waits for a window, and the trailers after it. */
export interface Outbox {
  readonly chunks: Buffer[];
  bytes: number;
  /** Bytes of the budget that the stream holds while its output waits. */
  held: number;
  /** A header block; empty: the last DATA ends the stream. */
  trailers: Buffer | undefined;
}

export class Stream {
  handler: StreamHandler | undefined;
  /** Whether the stream is in the connection's table. */
  isOpen = false;
  outbox: Outbox | undefined;
  /** The peer has closed its side. */
  remoteEnded = false;
  /** Received bytes of DATA, without padding. */
  received = 0;
  /** Received bytes for which no window was returned: not yet consumed by the handler, and consumed but not yet announced. */
  unconsumed = 0;
  consumed = 0;

  constructor(
    readonly id: number,
    public sendWindow: number,
    readonly contentLength: number | undefined,
  ) {}
}
