/** What Envoy asks about: a domain and its descriptors, as the domain model sees them. */

import type { UnitName } from '../rule/unit';

/**
 * Text exactly as it came over the wire, one character per byte (latin1), so that invalid UTF-8 and NUL are
 * counted as their own bytes. ASCII reads as itself; `src/descriptor/byte-string.ts` converts.
 */
export type ByteString = string;

/** One key and value of a descriptor; order matters. */
export interface Entry {
  readonly key: ByteString;
  readonly value: ByteString;
}

/** A limit that the caller sends along with a descriptor, in place of the configured ones. */
export interface LimitOverride {
  readonly requestsPerUnit: number;
  readonly unit: UnitName;
  /** 1 if not sent. */
  readonly unitMultiplier: number;
}

/** One thing to count: its entries, perhaps its own limit, perhaps its own hits. */
export interface Descriptor {
  readonly entries: readonly Entry[];
  readonly override?: LimitOverride;
  /** Hits of this descriptor: 0 is a check, a negative number a refund. Absent: the request's hits. */
  readonly hits?: number;
}

/** One question of Envoy's. */
export interface RateLimitRequest {
  readonly domain: ByteString;
  readonly descriptors: readonly Descriptor[];
  /** Hits of each descriptor that has none of its own; at least 1. */
  readonly hits: number;
  /** `hits` is what the caller asked for; absent: it did not say. */
  readonly saysHits?: true;
  /** Equal requests come as this very object: what is found out about it is worth remembering. */
  readonly recurs?: true;
}

/**
 * More hits than any limit can hold (limits are uint32), so every larger number is decided, and counted in
 * metrics, as this one: no sum of them leaves the exact integers.
 */
export const HITS_MAX = 2 ** 32;
