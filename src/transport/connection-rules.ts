/** What a connection to the gRPC port may do, and for how long it may live: the operator's part of its bounds. */

export interface ConnectionRules {
  /** Streams at once, told to the peer. */
  readonly streamsMax: number;
  /** After so long, give or take a tenth, the peer is asked to connect anew; 0: never. */
  readonly maxAgeMs: number;
  /** How long calls may then go on. */
  readonly maxAgeGraceMs: number;
  /** A peer that has said nothing for so long is asked whether it is there; 0: never. */
  readonly keepaliveTimeMs: number;
  /** How long it has to answer. */
  readonly keepaliveTimeoutMs: number;
}

/** Without settings, as in tests: connections that live as long as their peers. */
export const DEFAULT_RULES: ConnectionRules = { streamsMax: 1024, maxAgeMs: 0, maxAgeGraceMs: 0, keepaliveTimeMs: 0, keepaliveTimeoutMs: 0 };

/** A tenth more or less, so that clients that have come together do not all come again together. */
const AGE_JITTER = 0.1;

/** `random` is from 0 to 1. */
export function jitteredAgeMs(maxAgeMs: number, random: number): number {
  return maxAgeMs * (1 - AGE_JITTER + 2 * AGE_JITTER * random);
}
