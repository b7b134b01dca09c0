/** Queries on rules that dashboards and alerts share. */

import { LIMIT_METRICS } from '../../../src/server/observability/metrics/rule-limit-metric';
import type { RuleLabel } from '../../../src/server/observability/metrics/rule-labels';
import { RULE_METRICS } from '../../../src/server/observability/metrics/rule-metrics';
import { minBy, rate, series, sumBy, type Matchers, type TargetLabel } from './promql';
import type { Duration, TimeScale } from './time-scale';

export interface RuleQueryOptions {
  readonly by: string;
  readonly range: string;
  readonly matchers?: Matchers<RuleLabel | TargetLabel>;
  /** Leaves other windows out. */
  readonly windows?: WindowSeconds;
}

/** Lengths of windows: over the first number, up to the second. */
type WindowSeconds = readonly [over: number, upTo: number];

/** The range over which hits are compared with limits of these windows: over a shorter one, a burst would look like too much. */
export interface WindowBand {
  readonly name: string;
  readonly range: Duration;
  readonly over: Duration;
}

export const WINDOW_BANDS = [
  { name: '', range: '10m', over: '0s' },
  { name: ' (windows up to an hour)', range: '1h', over: '10m' },
  { name: ' (windows up to a day)', range: '24h', over: '1h' },
] as const satisfies readonly WindowBand[];

/** The part that limits of a band use. */
export function usedInBand(
  { range, over }: WindowBand,
  options: Pick<RuleQueryOptions, 'by' | 'matchers'> & { readonly time: TimeScale },
): string {
  const { time, ...query } = options;
  return usedShare({ ...query, range: time.range(range), windows: [over === '0s' ? 0 : time.seconds(over), time.seconds(range)] });
}

/** The part of its tightest limit that each rule with one bucket uses: 1 is all. */
export function usedShare({ by, range, matchers = {}, ...options }: RuleQueryOptions): string {
  const used = sumBy(by, rate(series(RULE_METRICS.withinLimit, matchers), range));
  return `${used} / ${limitPerSecond({ by, matchers, ...options })}`;
}

/** What the tightest limit of each rule with one bucket allows per second. */
export function limitPerSecond({ by, matchers = {}, windows }: Omit<RuleQueryOptions, 'range'>): string {
  const limits = series(LIMIT_METRICS.limit, { ...matchers, buckets: 'one', algorithm: '!in_flight' });
  const window = series(LIMIT_METRICS.window);
  return minBy(by, `${limits} / ${windows === undefined ? window : `(${window} > ${windows[0]} <= ${windows[1]})`}`);
}
