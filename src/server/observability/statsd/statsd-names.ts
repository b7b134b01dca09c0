/** Maps the metrics of the tables to statsd: names, and one number or one set of durations for each name. */

import { ADMIN_METRICS } from '../metrics/admin-metrics';
import { CERTIFICATE_METRIC } from '../metrics/certificate-expiry';
import {
  CONFIG_METRICS,
  CONTROL_METRICS,
  DECISION_LOG_METRICS,
  EVENT_METRICS,
  METRICS,
  FAIR_METRICS,
  GUARD_METRICS,
  PENALTY_METRICS,
  REPORT_METRICS,
  TRACE_METRICS,
  WORKER_METRICS,
  XDS_METRICS,
  type MetricRow,
} from '../metrics/metrics';
import type { MetricReading, ReadValue } from '../metrics/metrics-snapshot';
import { DOMAIN_METRICS, RULE_METRICS } from '../metrics/rule-metrics';

export type Stat = NumberStat | { readonly kind: 'times'; readonly name: string; readonly buckets: readonly TimeBucket[] };

interface NumberStat {
  readonly kind: 'counter' | 'gauge';
  readonly name: string;
  readonly value: number;
}

export interface TimeBucket {
  /** Upper bound of the bucket, in seconds. */
  readonly upToS: number;
  /** Durations in this bucket and all lower ones. */
  readonly count: number;
}

/** Everything except printable ASCII without the separators of statsd. */
const UNSENT = /[^!-~]|[:|]/g;

const ROWS: readonly MetricRow[] = [
  METRICS,
  CONFIG_METRICS,
  XDS_METRICS,
  { CERTIFICATE_METRIC },
  CONTROL_METRICS,
  GUARD_METRICS,
  FAIR_METRICS,
  PENALTY_METRICS,
  ADMIN_METRICS,
  WORKER_METRICS,
  REPORT_METRICS,
  TRACE_METRICS,
  DECISION_LOG_METRICS,
  EVENT_METRICS,
  RULE_METRICS,
  DOMAIN_METRICS,
].flatMap((table) => Object.values<MetricRow>(table));

/** A part of a name: fixed text, or the value of a label. */
type NamePart = { readonly text: string } | { readonly label: string };

/** By Prometheus name. */
const NAMES: ReadonlyMap<string, readonly NamePart[]> = new Map(
  ROWS.map((row) => [row.name, statsdTemplate(row).split('.').map(toNamePart)]),
);

function toNamePart(text: string): NamePart {
  const [, label] = /^\{(.*)\}$/.exec(text) ?? [];
  return label === undefined ? { text } : { label };
}

/** The statsd name of a row, with `{label}` for the value of a label. */
export function statsdTemplate({ name, type, labels, statsd }: MetricRow): string {
  if (statsd !== undefined) return statsd;
  const own = name.replace(/^weir_/, 'weir.');
  const bare = type === 'counter' ? own.replace(/_total$/, '') : type === 'histogram' ? own.replace(/_seconds$/, '') : own;
  return [bare, ...labels.map((label) => `{${label}}`)].join('.');
}

/** A statistic that is summed up during the conversion. */
interface Sum extends NumberStat {
  value: number;
}

/** Values between two checks of the clock. */
const VALUES_AT_ONCE = 32;

/** Converts a reading to statistics in slices; metrics that share a statsd name are added. */
export function* toStats(reading: readonly MetricReading[]): Generator<undefined, Stat[]> {
  const numbers = new Map<string, Sum>();
  const times = new Map<string, Map<number, number>>();
  for (const { name: metric, type, values } of reading) {
    const parts = NAMES.get(metric);
    if (parts === undefined) continue;
    const kind = type === 'gauge' ? 'gauge' : 'counter';
    let taken = 0;
    for (const each of values) {
      const name = statsdName(parts, each.labels);
      if (type === 'histogram') addTimes(times, name, each);
      else addNumber(numbers, { kind, name, value: each.value });
      taken += 1;
      if (taken % VALUES_AT_ONCE === 0) yield;
    }
  }
  const stats: Stat[] = [];
  for (const sum of numbers.values()) {
    stats.push(sum);
    if (stats.length % VALUES_AT_ONCE === 0) yield;
  }
  for (const [name, buckets] of times)
    stats.push({ kind: 'times', name, buckets: Array.from(buckets, ([upToS, count]) => ({ upToS, count })) });
  return stats;
}

/** The statsd name of one series. */
export function statsdNameOf(metric: string, labels: ReadValue['labels']): string {
  return statsdName(NAMES.get(metric) ?? [{ text: metric }], labels);
}

/** Omits the levels that the rule does not have. */
function statsdName(parts: readonly NamePart[], labels: ReadValue['labels']): string {
  let name = '';
  for (const part of parts) {
    const text = 'text' in part ? part.text : labels[part.label];
    if (text === undefined || text === '') continue;
    name = name === '' ? String(text) : `${name}.${text}`;
  }
  return name.replace(UNSENT, '_');
}

function addNumber(numbers: Map<string, Sum>, added: Sum): void {
  const known = numbers.get(added.name);
  if (known === undefined) numbers.set(added.name, added);
  else known.value += added.value;
}

function addTimes(times: Map<string, Map<number, number>>, name: string, { metricName = '', labels, value }: ReadValue): void {
  if (!metricName.endsWith('_bucket')) return;
  const upToS = labels.le === '+Inf' ? Infinity : Number(labels.le);
  const known = times.get(name) ?? new Map<number, number>();
  times.set(name, known);
  known.set(upToS, (known.get(upToS) ?? 0) + value);
}
