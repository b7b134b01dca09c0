/** Queries on rules that dashboards and alerts share. */

import { LIMIT_METRICS } from '../metrics/rule-limit-metric';
import type { RuleLabel } from '../metrics/rule-labels';
import { RULE_METRICS } from '../metrics/rule-metrics';
import { minBy, rate, series, sumBy, type Matchers } from './promql';

export interface RuleQueryOptions {
  readonly by: string;
  readonly range: string;
  readonly matchers?: Matchers<RuleLabel | 'instance'>;
  /** Leaves longer windows out: a burst may use much of their limit at once. */
  readonly windowSecondsMax?: number;
}

/** The part of its tightest limit that each rule with one bucket uses: 1 is all. */
export function usedShare({ by, range, matchers = {}, ...options }: RuleQueryOptions): string {
  const used = sumBy(by, rate(series(RULE_METRICS.withinLimit, matchers), range));
  return `${used} / ${limitPerSecond({ by, matchers, ...options })}`;
}

/** What the tightest limit of each rule with one bucket allows per second. */
export function limitPerSecond({ by, matchers = {}, windowSecondsMax }: Omit<RuleQueryOptions, 'range'>): string {
  const limits = series(LIMIT_METRICS.limit, { ...matchers, buckets: 'one', algorithm: '!in_flight' });
  const window = series(LIMIT_METRICS.window);
  return minBy(by, `${limits} / ${windowSecondsMax === undefined ? window : `(${window} <= ${windowSecondsMax})`}`);
}
