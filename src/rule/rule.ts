/** A rule: the node of a configuration that says what happens to the descriptors that end there. */

import type { SharedEntry } from '../bucket/bucket-key';
import type { InFlight } from './in-flight';
import type { Limit } from './limit';

/** JSON as a configuration gives it. */
export type JsonValue = string | number | boolean | null | readonly JsonValue[] | JsonObject;

export interface JsonObject {
  readonly [name: string]: JsonValue;
}

export interface Rule {
  /**
   * The rule's place in its domain, one item per level as the reference names its statistics: `key_value` where
   * the value is configured, else `key`. Known from the configuration alone, so bounded by it.
   */
  readonly path: readonly string[];
  /** Every one is enforced; empty if the rule is `unlimited`. Requests in flight come last. */
  readonly limits: readonly Limit[];
  /** Absent: the rule does not count requests in flight. */
  readonly inFlight?: InFlight;
  /** Matched, answered OK with all that can remain, never counted. */
  readonly unlimited: boolean;
  /** Name of an unlimited rule; limits have their own. */
  readonly name: string;
  /** Names of limits that do not apply to a request that this rule matches. */
  readonly replaces: readonly string[];
  /** Counted, reported, never denied. */
  readonly shadowMode: boolean;
  /** Denies only together with every other quota descriptor of the request. */
  readonly quotaMode: boolean;
  /** Statistics show the value of every entry as it was sent; levels with `share_threshold` keep their pattern. */
  readonly detailedMetric: boolean;
  /** By level, whether statistics show the value as it was sent in place of what is configured; empty if none does. */
  readonly valueToMetric: readonly boolean[];
  /** By level, what stands in the bucket key for every entry that the level's pattern matches; empty if none is shared. */
  readonly shareThreshold: readonly (SharedEntry | undefined)[];
  /** Handed to the caller with what it is told of the limit. */
  readonly metadata?: JsonObject;
}
