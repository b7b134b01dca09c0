/** A point of a history: rates and percentiles between two readings of the counters. */

import type { LiveCounts, StoreCounts } from './live-counts';
import { between, percentile } from './percentile';
import { MS_PER_S } from '../../../lib/time-units';

const [P50, P99] = [0.5, 0.99];

export interface LivePoint {
  readonly at: string;
  readonly askedPerS: number;
  readonly deniedPerS: number;
  readonly decisionP50Ms?: number;
  readonly decisionP99Ms?: number;
  readonly storeP99Ms?: number;
}

export interface LiveStore {
  readonly store: string;
  readonly p50Ms?: number;
  readonly p99Ms?: number;
  readonly errorsPerS: number;
}

/** Two readings. */
export interface Span {
  readonly earlier: LiveCounts;
  readonly later: LiveCounts;
}

export function secondsOf({ earlier, later }: Span): number {
  return (later.atMs - earlier.atMs) / MS_PER_S;
}

export function pointOf(span: Span): LivePoint {
  const { earlier, later } = span;
  const seconds = secondsOf(span);
  const times = between(earlier.decisionTimes, later.decisionTimes);
  const storeP99Ms = Math.max(0, ...later.stores.map((each) => storeOf(each, span).p99Ms ?? 0));
  return {
    at: new Date(later.atMs).toISOString(),
    askedPerS: rate(sum(later.rules.asked) - sum(earlier.rules.asked), seconds),
    deniedPerS: rate(deniedHits(later) - deniedHits(earlier), seconds),
    ...named('decisionP50Ms', 'decisionP99Ms', times),
    ...(storeP99Ms > 0 && { storeP99Ms }),
  };
}

export function storeOf({ store, times, errors }: StoreCounts, span: Span): LiveStore {
  const before = span.earlier.stores.find((each) => each.store === store);
  return {
    store,
    ...named('p50Ms', 'p99Ms', between(before?.times, times)),
    errorsPerS: rate(errors - (before?.errors ?? 0), secondsOf(span)),
  };
}

/** The percentiles under these names, in milliseconds; none without observations. */
export function named<Half extends string, Most extends string>(half: Half, most: Most, times: Parameters<typeof percentile>[0]) {
  const [p50, p99] = [percentile(times, P50), percentile(times, P99)];
  return {
    ...(p50 !== undefined && { [half]: toMs(p50) }),
    ...(p99 !== undefined && { [most]: toMs(p99) }),
  } as Partial<Record<Half | Most, number>>;
}

function toMs(seconds: number): number {
  return Math.round(seconds * 1_000_000) / 1_000;
}

export function deniedHits({ rules: { over, shadow } }: LiveCounts): number {
  return sum(over) - sum(shadow);
}

export function sum(values: Float64Array): number {
  return values.reduce((total, each) => total + each, 0);
}

/** A worker that ended takes nothing away. */
export function rate(difference: number, seconds: number): number {
  return seconds <= 0 ? 0 : Math.max(0, Math.round((difference / seconds) * 1_000) / 1_000);
}
