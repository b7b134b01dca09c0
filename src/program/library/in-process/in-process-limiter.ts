/** The interface of a limiter in the process, and its options. */

import type { FailureOptions, Limiter, LimitRequest, WaitBoundOptions } from '../limiter/limiter';

/** Where the rules come from: the path of a file or a directory, the text of a file, or its content as objects, one for each domain. */
export type RulesOption = string | { readonly text: string } | { readonly documents: readonly object[] };

/** The failure mode decides if Redis is away and a limit has `failure_mode: unavailable`, or after `close`. */
export interface LimiterOptions extends FailureOptions, WaitBoundOptions {
  readonly rules: RulesOption;
  /** Where hits are counted: in this process (the default), or in a Redis that services and other limiters share. */
  readonly store?: 'embedded' | { readonly redis: string };
  /** Whether changes of the files come into force while the limiter works. Default: false. Only for rules at a path. */
  readonly watch?: boolean;
  /** Settings of the service by name, such as `{ FAILURE_MODE: 'closed', CACHE_KEY_PREFIX: 'shop:' }`. The environment is not read. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Where lines of the log go. Default: standard error, warnings and errors only. */
  readonly log?: { write(line: string): unknown };
}

export interface InProcessLimiter extends Limiter {
  /** Shows which rules match a request and why others do not, as `weir explain` does. Charges nothing. */
  explain(request: LimitRequest): string;
  /** The metrics of this limiter, in the text format of Prometheus. */
  metrics(): Promise<string>;
}
