/** The counters of a deciding process since its start, as the thread of the admin API reads them for live figures. */

export interface LiveCounts {
  /** In milliseconds since 1970. */
  readonly atMs: number;
  /** Answered, over gRPC and HTTP. */
  readonly decisions: number;
  /** Requests without a decision. */
  readonly errors: number;
  /** Requests decided without Redis, by the failure modes of their limits. */
  readonly fallbackDecisions: number;
  /** Requests denied by the deny cache. */
  readonly cachedDenials: number;
  /** Descriptors that no rule limits. */
  readonly unmatched: number;
  readonly decisionTimes: Times;
  readonly stores: readonly StoreCounts[];
  readonly rules: RuleCounts;
}

/** A histogram: observations by upper bound, each bucket with those below it. */
export interface Times {
  /** Upper bounds in seconds; the last is Infinity. */
  readonly bounds: readonly number[];
  readonly counts: readonly number[];
}

export interface StoreCounts {
  readonly store: string;
  readonly times: Times;
  readonly errors: number;
}

/** By row; a row never changes its rule. */
export interface RuleCounts {
  /** Rules of the rows from the one that was asked for. */
  readonly added: readonly RuleName[];
  readonly asked: Float64Array;
  readonly over: Float64Array;
  readonly near: Float64Array;
  readonly shadow: Float64Array;
}

export interface RuleName {
  readonly domain: string;
  /** The path, joined with dots. */
  readonly rule: string;
}

/** Reads the counters. */
export interface CountsPort {
  /** `fromRow`: the rows of rules that the caller knows already. */
  counts(query: { readonly fromRow: number }): Promise<LiveCounts>;
}
