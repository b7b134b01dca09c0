/** What the metrics of the tables are called in statsd, and what they say there: one number or one set of times for each name. */

import { CONFIG_METRICS, METRICS, REPORT_METRICS, WORKER_METRICS, type MetricRow } from './metrics';
import type { MetricReading, ReadValue } from './reading';
import { DOMAIN_METRICS, RULE_METRICS } from './rule-metrics';

export type Stat =
  | { readonly kind: NumberKind; readonly name: string; readonly value: number }
  | { readonly kind: 'times'; readonly name: string; readonly buckets: readonly TimeBucket[] };

type NumberKind = 'counter' | 'gauge';

export interface TimeBucket {
  /** The longest of them, in seconds. */
  readonly upToS: number;
  /** Times of this bucket and all shorter ones. */
  readonly count: number;
}

/** Anything but printable ASCII, and what ends a name. */
const UNSENT = /[^!-~]|[:|]/g;

const ROWS: readonly MetricRow[] = [METRICS, CONFIG_METRICS, WORKER_METRICS, REPORT_METRICS, RULE_METRICS, DOMAIN_METRICS].flatMap((table) => Object.values<MetricRow>(table));

/** A part of a name: as it is, or the value of a label. */
type NamePart = { readonly text: string } | { readonly label: string };

/** By the name that Prometheus knows. */
const NAMES: ReadonlyMap<string, readonly NamePart[]> = new Map(ROWS.map((row) => [row.name, statsdTemplate(row).split('.').map(toNamePart)]));

function toNamePart(text: string): NamePart {
  const [, label] = /^\{(.*)\}$/.exec(text) ?? [];
  return label === undefined ? { text } : { label };
}

/** The name of the row in statsd, with `{label}` where the value of a label stands. */
export function statsdTemplate({ name, type, labels, statsd }: MetricRow): string {
  if (statsd !== undefined) return statsd;
  const own = name.replace(/^weir_/, 'weir.');
  const bare = type === 'counter' ? own.replace(/_total$/, '') : type === 'histogram' ? own.replace(/_seconds$/, '') : own;
  return [bare, ...labels.map((label) => `{${label}}`)].join('.');
}

interface Sum {
  readonly kind: NumberKind;
  value: number;
}

/** All that a reading says of the metrics of the tables; those that share a name in statsd are one. */
export function toStats(reading: readonly MetricReading[]): Stat[] {
  const numbers = new Map<string, Sum>();
  const times = new Map<string, Map<number, number>>();
  for (const { name: metric, type, values } of reading) {
    const parts = NAMES.get(metric);
    if (parts === undefined) continue;
    const kind: NumberKind = type === 'gauge' ? 'gauge' : 'counter';
    for (const each of values) {
      const name = statsdName(parts, each.labels);
      if (type === 'histogram') addTimes(times, name, each);
      else addNumber(numbers, name, { kind, value: each.value });
    }
  }
  return [
    ...Array.from(numbers, ([name, { kind, value }]): Stat => ({ kind, name, value })),
    ...Array.from(times, ([name, buckets]): Stat => ({ kind: 'times', name, buckets: Array.from(buckets, ([upToS, count]) => ({ upToS, count })) })),
  ];
}

/** Levels that a rule does not have are left out. */
function statsdName(parts: readonly NamePart[], labels: ReadValue['labels']): string {
  let name = '';
  for (const part of parts) {
    const text = 'text' in part ? part.text : labels[part.label];
    if (text === undefined || text === '') continue;
    name = name === '' ? String(text) : `${name}.${text}`;
  }
  return name.replace(UNSENT, '_');
}

function addNumber(numbers: Map<string, Sum>, name: string, added: Readonly<Sum>): void {
  const known = numbers.get(name);
  if (known === undefined) numbers.set(name, { ...added });
  else known.value += added.value;
}

function addTimes(times: Map<string, Map<number, number>>, name: string, { metricName = '', labels, value }: ReadValue): void {
  if (!metricName.endsWith('_bucket')) return;
  const upToS = labels.le === '+Inf' ? Infinity : Number(labels.le);
  const known = times.get(name) ?? new Map<number, number>();
  times.set(name, known);
  known.set(upToS, (known.get(upToS) ?? 0) + value);
}
