/** One stream: what is left of its windows, what it has yet to send, and who answers it. */

import type { ErrorCode } from './errors';

/** Who answers a stream. Bytes are the connection's: what is kept has to be copied. */
export interface StreamHandler {
  onData(bytes: Buffer, start: number, end: number): void;
  /** The peer has sent everything. */
  onEnd(): void;
  /** The stream is over for the peer, or for the connection. Nothing may be sent any more. */
  onReset(code: ErrorCode): void;
  /** All that was to be sent has been. */
  onDrained?(): void;
  /** Its deadline, if it waits with one; one that has come is answered, and is none any more. */
  endIfLate?(nowMs: number): number | undefined;
}

/** DATA that waits for a window, and the trailers after it. */
export interface Outbox {
  readonly chunks: Buffer[];
  bytes: number;
  /** A header block; empty: the last DATA ends the stream. */
  trailers: Buffer | undefined;
}

export class Stream {
  handler: StreamHandler | undefined;
  /** Whether it is in the connection's table. */
  isOpen = false;
  outbox: Outbox | undefined;
  /** The peer has ended its side. */
  remoteEnded = false;
  /** Bytes of DATA received so far, without padding. */
  received = 0;
  /** Received, and not yet given back to the peer as window: by the handler's leave, and by a WINDOW_UPDATE. */
  unconsumed = 0;
  consumed = 0;

  constructor(
    readonly id: number,
    public sendWindow: number,
    readonly contentLength: number | undefined,
  ) {}
}
