/** Error codes and errors of HTTP/2, for a connection (GOAWAY) or a stream (RST_STREAM). */

/** RFC 9113, 7. */
export const ErrorCode = {
  NO_ERROR: 0x0,
  PROTOCOL_ERROR: 0x1,
  INTERNAL_ERROR: 0x2,
  FLOW_CONTROL_ERROR: 0x3,
  STREAM_CLOSED: 0x5,
  FRAME_SIZE_ERROR: 0x6,
  REFUSED_STREAM: 0x7,
  CANCEL: 0x8,
  COMPRESSION_ERROR: 0x9,
  ENHANCE_YOUR_CALM: 0xb,
} as const;

export type ErrorCode = (typeof ErrorCode)[keyof typeof ErrorCode];

/** Ends the connection. The message is sent to the peer in GOAWAY. */
export class ConnectionError extends Error {
  override readonly name = 'ConnectionError';

  constructor(
    readonly code: ErrorCode,
    reason: string,
  ) {
    super(reason);
  }
}

/** Ends one stream; the others continue. */
export class StreamError extends Error {
  override readonly name = 'StreamError';

  constructor(
    readonly streamId: number,
    readonly code: ErrorCode,
    reason: string,
  ) {
    super(reason);
  }
}
