/** What is told of the connections to the gRPC port: how many there are, and which of them we have ended, and why. */

/** Why we have ended a connection, or not let it in. */
export const END_REASONS = ['protocol_error', 'flood', 'handshake_timeout', 'stalled', 'max_age', 'keepalive', 'tls', 'too_many', 'fault'] as const;

export type EndReason = (typeof END_REASONS)[number];

export interface ConnectionMeasure {
  readonly onOpen: () => void;
  readonly onClose: () => void;
  /** `details` say more to the operator. */
  readonly onEnd: (reason: EndReason, details: string) => void;
  /** A peer has opened more streams than it may. */
  readonly onStreamRefused: () => void;
}

export const UNMEASURED: ConnectionMeasure = {
  onOpen: () => undefined,
  onClose: () => undefined,
  onEnd: () => undefined,
  onStreamRefused: () => undefined,
};
