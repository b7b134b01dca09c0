/** All that one load of the configuration made. A reload makes a new one; nothing here ever changes. */

import type { ByteString } from '../descriptor/descriptor';
import type { DescriptorLevel } from '../descriptor/tree';
import type { Algorithm, FailureMode, Overdraft, ResponseHeaders } from './limit';

export interface Domain {
  readonly name: ByteString;
  /** What an override counts in when it replaces no rule of the domain. */
  readonly defaultAlgorithm: Algorithm;
  /** `USE_CALENDAR_MONTH_RATE_LIMIT`, for overrides: configured limits have it in them. */
  readonly calendarMonth: boolean;
  /** For overrides; absent: `FAILURE_MODE`. */
  readonly failureMode?: FailureMode;
  /** For overrides that replace no rule: how their limits take usage reports. */
  readonly defaultOverdraft?: Overdraft;
  /** For overrides; absent: the setting `RESPONSE_HEADERS`. */
  readonly responseHeaders?: ResponseHeaders;
  /** Every way in which a limit of the domain says that it is shown; absent: none says. */
  readonly headerModes?: readonly ResponseHeaders[];
  /** A limit of the domain says how it takes reservations. */
  readonly hasReservations?: boolean;
  /** `hash_tag`: the entry whose value spreads the domain's buckets over a Redis Cluster. */
  readonly hashTag?: ByteString;
  readonly root: DescriptorLevel;
}

export interface RuleSet {
  /** 1 for the first load, one more for each that follows. */
  readonly generation: number;
  readonly domains: ReadonlyMap<ByteString, Domain>;
  /** What the configuration says to no effect, as `file:line:col: path: message`; the last line may be `and 7 more`. */
  readonly warnings: readonly string[];
}
