/** The port of top keys: which keys ask most, are denied most, or are nearest to their limit. */

import type { UnitName } from '../../domain/descriptor/unit';

/**
 * `asked`: most hits requested. `denied`: most hits of requests that this key denied. `near`: the largest share of a limit used by
 * admitted requests. `candidate_denied`: most hits that the candidate of a limit would have denied.
 */
export const TOP_QUESTIONS = ['asked', 'denied', 'near', 'candidate_denied'] as const;

export type TopQuestion = (typeof TOP_QUESTIONS)[number];

/** Lengths of the windows, in minutes. */
export const TOP_MINUTES = [1, 10, 60] as const;

export type TopMinutes = (typeof TOP_MINUTES)[number];

/** The most items of one answer. */
export const TOP_COUNT_MAX = 100;

export interface TopQuery {
  readonly question: TopQuestion;
  readonly minutes: TopMinutes;
  /** From 1 to TOP_COUNT_MAX. */
  readonly count: number;
  /** Absent: all domains. */
  readonly domain?: string;
  /** `TopItem.rule`; absent: all rules. */
  readonly rule?: string;
}

/** The limit that was binding when the key was seen last. */
export interface TopLimit {
  /** `""` if the limit has no name. */
  readonly name: string;
  readonly requestsPerUnit: number;
  readonly unit: UnitName;
  readonly unitMultiplier: number;
}

/** A key: the entries that one rule counts together. */
export interface TopItem {
  readonly domain: string;
  /** The rule's path in the names of statistics, joined with dots, such as `endpoint_/charge.merchant`. */
  readonly rule: string;
  /**
   * `key=value,key=value`, as `weir explain --descriptor` reads it. A text of over TOP_TEXT_BYTES_MAX bytes is cut, and ends with `~`
   * and a part of its hash.
   */
  readonly entries: string;
  /**
   * `asked`, `denied`, `candidate_denied`: hits within the window, never too low; items are ordered by `count - error`. `near`: hits that were admitted
   * while the key was near its limit, of the instances and periods that list it.
   */
  readonly count: number;
  /** By how much `count` may be too high: at least `count - error` hits are certain. */
  readonly error: number;
  /** `near`: the largest share of the limit that was used, from 0 to 1; items are ordered by it. */
  readonly usedShare?: number;
  /** Absent: not known. */
  readonly limit?: TopLimit;
  /** Share of the limit left when the key was seen last, from 0 to 1. Absent: not known. */
  readonly remainingShare?: number;
}

export interface TopAnswer {
  /** The largest first; equal ones by text. */
  readonly items: readonly TopItem[];
  /**
   * `asked`, `denied`, `candidate_denied`: the most hits that a key that is not listed can have. `near`: 0 if all keys near
   * their limit could be kept, otherwise the largest share, in thousandths, of a key that could not.
   */
  readonly unlistedMax: number;
  /** Hits of all keys in the window under the rules asked for. */
  readonly totalHits: number;
  /** For how long the hits were counted, in milliseconds: the window, and up to one sixth more; less after a start. */
  readonly coveredMs: number;
  /** Processes whose summaries are part of the answer. */
  readonly instances: number;
  /** Live processes without a summary: just started, not reachable, or without top keys. */
  readonly missing: number;
}

/** The longest `domain`, `rule` and `entries` of an item, each in bytes of UTF-8. */
export const TOP_TEXT_BYTES_MAX = 256;

export interface TopKeys {
  /** Rejects with a StoreError if the store cannot list the instances. */
  top(query: TopQuery): Promise<TopAnswer>;
}
