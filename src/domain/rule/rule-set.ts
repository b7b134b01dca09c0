/** The result of one load of the configuration. It never changes; a reload makes a new one. */

import type { Algorithm } from '../algorithm/algorithms';
import type { Admission } from '../descriptor/admission';
import type { ByteString } from '../descriptor/descriptor';
import type { DescriptorLevel } from './tree';
import type { Plan } from './plan';
import type { Limit, LimitTerms, ResponseHeaders } from './limit';
import type { Stage } from './stage/stage';

/** The limits whose candidates share a stage. */
export interface StagedLimits {
  readonly stage: Stage;
  readonly limits: readonly Limit[];
}

/** Its terms are those of overrides that replace no limit; blocks have its `responseBody`. */
export interface Domain extends LimitTerms {
  readonly name: ByteString;
  /** For overrides that replace no rule of the domain. */
  readonly defaultAlgorithm: Algorithm;
  /** `USE_CALENDAR_MONTH_RATE_LIMIT`, for overrides: configured limits already include it. */
  readonly calendarMonth: boolean;
  /** All values of `response_headers` of limits in the domain; absent: no limit has one. */
  readonly headerModes?: readonly ResponseHeaders[];
  /** Whether a limit of the domain has a `response_body` other than `off`. */
  readonly hasBodies?: boolean;
  /** Whether a limit of the domain has `soft` lines. */
  readonly hasSoftLines?: boolean;
  /** Whether a limit of the domain has `reservations`. */
  readonly hasReservations?: boolean;
  /** `hash_tag`: key of the entry whose value spreads the domain's buckets over a Redis Cluster. */
  readonly hashTag?: ByteString;
  /** `require` and `unmatched`; absent: the domain refuses nothing. */
  readonly admission?: Admission;
  /** Whether a limit of the domain has a `candidate`. */
  readonly hasCandidates?: boolean;
  /** The candidates that may have a stage, by its name; absent: there are none. */
  readonly stages?: ReadonlyMap<string, StagedLimits>;
  /** Whether a descriptor of the domain has a `penalty`. */
  readonly hasPenalties?: boolean;
  /** Whether a descriptor of the domain has `tenant: true`. */
  readonly hasTenants?: boolean;
  /** Plans by name; absent: none. */
  readonly plans?: ReadonlyMap<ByteString, Plan>;
  readonly root: DescriptorLevel;
}

export interface RuleSet {
  /** 1 for the first load, then one more for each load. */
  readonly generation: number;
  readonly domains: ReadonlyMap<ByteString, Domain>;
  /** Warnings about keys without effect and probable mistakes, as `file:line:col: path: message`; the last line may be `and 7 more`. */
  readonly warnings: readonly string[];
}
