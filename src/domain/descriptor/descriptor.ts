/** The input of a decision: a domain and its descriptors. */

import type { TimeUnit } from './unit';

/**
 * Text exactly as received, one character for each byte (latin1), so that invalid UTF-8 and NUL
 * count as their own bytes. ASCII stays readable; `src/domain/descriptor/byte-string.ts` converts.
 */
export type ByteString = string;

/** A key and a value of a descriptor; their order matters. */
export interface Entry {
  readonly key: ByteString;
  readonly value: ByteString;
}

/** A limit that a descriptor of the request brings, instead of the configured ones. */
export interface LimitOverride {
  readonly requestsPerUnit: number;
  readonly unit: TimeUnit;
  /** 1 if not sent. */
  readonly unitMultiplier: number;
}

/** Entries to count, with an optional limit and hits of their own. */
export interface Descriptor {
  readonly entries: readonly Entry[];
  readonly override?: LimitOverride;
  /** Hits of this descriptor: 0 is a check, a negative number a refund. Absent: the request's hits. */
  readonly hits?: number;
}

/** One request of Envoy. */
export interface RateLimitRequest {
  readonly domain: ByteString;
  readonly descriptors: readonly Descriptor[];
  /** Hits of each descriptor without its own; at least 1. */
  readonly hits: number;
  /** The caller sent `hits`; absent: it is the default. */
  readonly saysHits?: true;
  /** Equal requests are this identical object, so caching results for it pays off. */
  readonly recurs?: true;
}

/** One more than any limit has (`LIMIT_MAX`). Larger numbers are decided, and counted in metrics, as this one. */
export const HITS_MAX = 2 ** 53;
