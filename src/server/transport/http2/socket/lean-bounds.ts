/** The fixed bounds of the lean transport; tests may lower them. */

import { CONNECTIONS_MAX, HANDSHAKE_TIMEOUT_MS } from '../../port/grpc-listener';
import { UNFINISHED_BYTES_MAX } from '../../byte-budget';

export interface LeanBounds {
  readonly connectionsMax: number;
  /** Maximum bytes of incomplete messages of all connections together. */
  readonly unfinishedBytesMax: number;
  /** Maximum bytes of answers that wait for windows of their peers, of all connections together. */
  readonly waitingBytesMax: number;
  /** How long a peer may take for its TLS handshake, and for its first SETTINGS. */
  readonly handshakeTimeoutMs: number;
  /** How long a peer may leave its output unread. */
  readonly stallTimeoutMs: number;
  /** Interval of the checks for this, for silence and for age. */
  readonly watchMs: number;
}

export const LEAN_BOUNDS: LeanBounds = {
  connectionsMax: CONNECTIONS_MAX,
  unfinishedBytesMax: UNFINISHED_BYTES_MAX,
  waitingBytesMax: 32 * 1024 * 1024,
  handshakeTimeoutMs: HANDSHAKE_TIMEOUT_MS,
  stallTimeoutMs: 30_000,
  watchMs: 1000,
};
