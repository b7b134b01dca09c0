/** The bounds of the lean transport that are the same for everybody; a test may make them small. */

import { CONNECTIONS_MAX, HANDSHAKE_TIMEOUT_MS } from '../grpc-listener';
import { UNFINISHED_BYTES_MAX } from './byte-budget';

export interface LeanBounds {
  readonly connectionsMax: number;
  /** Bytes that all connections together may hold of messages that have not come to their end. */
  readonly unfinishedBytesMax: number;
  /** How long a peer may take to say that it speaks HTTP/2 (and before that, for TLS), */
  readonly handshakeTimeoutMs: number;
  /** and to take what waits for it. */
  readonly stallTimeoutMs: number;
  /** How often connections are looked at for that, and for their age. */
  readonly watchMs: number;
}

export const LEAN_BOUNDS: LeanBounds = {
  connectionsMax: CONNECTIONS_MAX,
  unfinishedBytesMax: UNFINISHED_BYTES_MAX,
  handshakeTimeoutMs: HANDSHAKE_TIMEOUT_MS,
  stallTimeoutMs: 30_000,
  watchMs: 1000,
};
