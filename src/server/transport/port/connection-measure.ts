/** The events that are reported of connections to the gRPC port: open connections, and why Weir ended or rejected one. */

/** Why Weir ended or rejected a connection. */
export const END_REASONS = [
  'protocol_error',
  'flood',
  'handshake_timeout',
  'stalled',
  'max_age',
  'keepalive',
  'tls',
  'too_many',
  'fault',
] as const;

export type EndReason = (typeof END_REASONS)[number];

export interface ConnectionMeasure {
  readonly onOpen: () => void;
  readonly onClose: () => void;
  /** `details` are for the operator. */
  readonly onEnd: (reason: EndReason, details: string) => void;
  /** A peer opened more streams than allowed. */
  readonly onStreamRefused: () => void;
}

export const UNMEASURED: ConnectionMeasure = {
  onOpen: () => undefined,
  onClose: () => undefined,
  onEnd: () => undefined,
  onStreamRefused: () => undefined,
};
