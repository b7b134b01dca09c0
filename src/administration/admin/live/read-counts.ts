/** Picks the counters for live figures out of a reading of all metrics. */

import type { LiveCounts, CountsPort, RuleName, StoreCounts, Times } from './live-counts';
import type { Labels } from '../../../server/observability/metrics/count-table';
import { METRICS } from '../../../server/observability/metrics/metrics';
import type { MetricReading, ReadValue } from '../../../server/observability/metrics/metrics-snapshot';
import { DOMAIN_METRICS, RULE_METRICS } from '../../../server/observability/metrics/rule-metrics';

const NOTHING = new Float64Array();

/** `read`: reads all metrics, of all workers. */
export function countsPort(read: () => Promise<readonly MetricReading[]>): CountsPort {
  return {
    counts: async ({ fromRow }) => {
      const readings = new Map((await read()).map((reading) => [reading.name, reading]));
      return countsOf(readings, fromRow);
    },
  };
}

type Readings = ReadonlyMap<string, MetricReading>;

function countsOf(readings: Readings, fromRow: number): LiveCounts {
  const total = (name: string) => valuesOf(readings, name).reduce((sum, { value }) => sum + value, 0);
  const column = ({ name }: { readonly name: string }) => readings.get(name)?.column?.counts ?? NOTHING;
  const rows = readings.get(RULE_METRICS.totalHits.name)?.column?.table.rows ?? [];
  const decisionTimes = timesOf(readings, METRICS.decisionTime);
  return {
    atMs: Date.now(),
    decisions: decisionTimes.counts.at(-1) ?? 0,
    errors: total(METRICS.shouldRateLimitError.name),
    fallbackDecisions: total(METRICS.fallbackDecisions.name),
    cachedDenials: total(METRICS.denyCacheDenials.name),
    unmatched: total(DOMAIN_METRICS.unmatched.name),
    decisionTimes,
    stores: storesOf(readings),
    rules: {
      added: rows.slice(fromRow).map(nameOf),
      asked: column(RULE_METRICS.totalHits),
      over: column(RULE_METRICS.overLimit),
      near: column(RULE_METRICS.nearLimit),
      shadow: column(RULE_METRICS.shadowMode),
    },
  };
}

function valuesOf(readings: Readings, name: string): readonly ReadValue[] {
  return Array.from(readings.get(name)?.values ?? []);
}

function storesOf(readings: Readings): readonly StoreCounts[] {
  const { name } = METRICS.storeLatency;
  const stores = new Set(valuesOf(readings, name).map(({ labels }) => String(labels.store)));
  const errors = valuesOf(readings, METRICS.storeErrors.name);
  return Array.from(stores, (store) => ({
    store,
    times: timesOf(readings, { name, only: { store } }),
    errors: errors.filter(({ labels }) => labels.store === store).reduce((sum, { value }) => sum + value, 0),
  }));
}

interface Series {
  readonly name: string;
  /** Absent: all series, added up. */
  readonly only?: Labels;
}

function timesOf(readings: Readings, { name, only = {} }: Series): Times {
  const wanted = Object.entries(only);
  const byBound = new Map<number, number>();
  for (const { metricName, labels, value } of valuesOf(readings, name)) {
    if (metricName !== `${name}_bucket` || !wanted.every(([label, text]) => labels[label] === text)) continue;
    const bound = labels.le === '+Inf' ? Infinity : Number(labels.le);
    byBound.set(bound, (byBound.get(bound) ?? 0) + value);
  }
  const buckets = Array.from(byBound).sort(([one], [other]) => one - other);
  return { bounds: buckets.map(([bound]) => bound), counts: buckets.map(([, count]) => count) };
}

function nameOf({ domain = '', ...keys }: Labels): RuleName {
  const path = Object.entries(keys)
    .filter(([, key]) => key !== undefined)
    .sort(([one], [other]) => (one < other ? -1 : 1));
  return { domain, rule: path.map(([, key]) => key).join('.') };
}
