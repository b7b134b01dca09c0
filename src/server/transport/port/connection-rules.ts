/** The operator's limits on connections to the gRPC port: streams, age and keepalive. */

export interface ConnectionRules {
  /** Maximum of concurrent streams, sent to the peer in SETTINGS. */
  readonly streamsMax: number;
  /** Age (± 10 %) at which the peer gets a GOAWAY, so that it reconnects; 0: never. */
  readonly maxAgeMs: number;
  /** How long calls may continue after that. */
  readonly maxAgeGraceMs: number;
  /** Silence after which the peer gets a PING; 0: never. */
  readonly keepaliveTimeMs: number;
  /** How long the peer may take to answer the PING. */
  readonly keepaliveTimeoutMs: number;
}

/** The default without settings, as in tests: connections are never ended. */
export const DEFAULT_RULES: ConnectionRules = {
  streamsMax: 1024,
  maxAgeMs: 0,
  maxAgeGraceMs: 0,
  keepaliveTimeMs: 0,
  keepaliveTimeoutMs: 0,
};

/** Spreads the ages, so that clients that connected together do not reconnect together. */
const AGE_JITTER = 0.1;

/** `random` is from 0 to 1. */
export function jitteredAgeMs(maxAgeMs: number, random: number): number {
  return maxAgeMs * (1 - AGE_JITTER + 2 * AGE_JITTER * random);
}
