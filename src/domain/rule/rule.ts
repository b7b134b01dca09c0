/** A rule: a configured descriptor with limits. */

import type { Fair } from './fair/fair';
import type { InFlight } from './in-flight';
import type { Limit } from './limit';
import type { Penalty } from './penalty';
import type { TenantTerms } from './plan';
import type { Reserve } from './reserve/reserve';
import type { SharedEntry } from './shared-entry';

/** JSON in a configuration. */
export type JsonValue = string | number | boolean | null | readonly JsonValue[] | JsonObject;

export interface JsonObject {
  readonly [name: string]: JsonValue;
}

export interface Rule {
  /**
   * The rule's path in its domain, one item for each level, as the reference names its statistics: `key_value` with a
   * configured value, otherwise `key`. Derived from the configuration only, so its length is bounded.
   */
  readonly path: readonly string[];
  /** All of them apply; empty if the rule is `unlimited`. Requests in flight are last. */
  readonly limits: readonly Limit[];
  /** Absent: the rule does not count requests in flight. */
  readonly inFlight?: InFlight;
  /** A match is answered OK with the maximum remaining and not counted. */
  readonly unlimited: boolean;
  /** Name of an unlimited rule; limits have their own. */
  readonly name: string;
  /** Names of limits that this rule replaces when it matches. */
  readonly replaces: readonly string[];
  /** Counted and reported, but never denied. */
  readonly shadowMode: boolean;
  /** Denies only if every other quota descriptor of the request is over too. */
  readonly quotaMode: boolean;
  /** Statistics show the value of every entry as received; levels with `share_threshold` keep their pattern. */
  readonly detailedMetric: boolean;
  /** By level, whether statistics show the received value instead of the configured one; empty if none does. */
  readonly valueToMetric: readonly boolean[];
  /** By level, what replaces every entry that the level's pattern matches in the bucket key; empty if no entry is shared. */
  readonly shareThreshold: readonly (SharedEntry | undefined)[];
  /** The limits above are those of the default plan. Absent: the rule has no plans. */
  readonly tenant?: TenantTerms;
  /** Absent: there is none. */
  readonly penalty?: Penalty;
  /** The last part of each limit is only for some requests. Absent: all are alike. */
  readonly reserve?: Reserve;
  /** Its limits are divided among members. Absent: they are not. */
  readonly fair?: Fair;
  /** Returned to callers with the status. */
  readonly metadata?: JsonObject;
}
