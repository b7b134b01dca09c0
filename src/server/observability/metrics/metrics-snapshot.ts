/** A snapshot of all metrics of a registry. */

import type { Metric, Registry } from 'prom-client';
import { isShown, type CountColumn } from './count-table';

/** One metric. */
export interface MetricReading {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  /** How to merge the values of several processes; default: sum. */
  readonly aggregator?: string;
  /** The values of a column are generated again by each iteration. */
  readonly values: Iterable<ReadValue>;
  /** Set for a metric with a series for each rule; `values` shows the same. */
  readonly column?: CountColumn;
}

export interface ReadValue {
  /** For histograms: the metric's name with `_bucket`, `_sum` or `_count`. */
  readonly metricName?: string;
  readonly labels: Readonly<Record<string, string | number | undefined>>;
  readonly value: number;
}

/** Reads all metrics in one turn of the event loop: counting afterwards does not change the result. */
export async function readMetrics(registry: Registry): Promise<readonly MetricReading[]> {
  // The type of `getMetricsAsArray` lacks `get`.
  const metrics = registry.getMetricsAsArray() as unknown as readonly { get(): Promise<MetricReading> }[];
  const readings = await Promise.all(metrics.map((metric) => metric.get()));
  return readings.map((reading) => (reading.column === undefined ? copyOf(reading) : reading));
}

/** Copies, because prom-client returns the objects that it counts in. */
function copyOf(reading: MetricReading): MetricReading {
  return { ...reading, values: Array.from(reading.values, (value) => ({ ...value })) };
}

export interface ReadMetricOptions {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  /** Called by each reading of the metric. */
  readonly values: () => readonly ReadValue[];
}

/** Registers a metric whose values live elsewhere: a reading looks them up and copies them. */
export function registerRead(registry: Registry, { name, help, type, values }: ReadMetricOptions): void {
  register(registry, { name, help, type, aggregator: 'sum' }, () => ({ values: values() }));
}

export interface ColumnOptions {
  readonly name: string;
  readonly help: string;
  readonly type?: 'counter' | 'gauge';
  /** Called by each reading of the metric. */
  readonly read: () => CountColumn;
}

/** Registers a metric that is a column of a table. A counter shows no series without a count. */
export function registerColumn(registry: Registry, { name, help, type = 'counter', read }: ColumnOptions): void {
  register(registry, { name, help, type, aggregator: 'sum' }, () => columnReading(read()));
}

/** The part of a reading that comes from a column. */
export function columnReading(column: CountColumn): Pick<MetricReading, 'values' | 'column'> {
  return { column, values: { [Symbol.iterator]: () => valuesOf(column) } };
}

function* valuesOf(column: CountColumn): Generator<ReadValue> {
  const { table, counts } = column;
  for (const [row, value] of counts.entries()) {
    const labels = table.rows[row];
    if (isShown(value, column) && labels !== undefined) yield { labels, value };
  }
}

type Described = Omit<MetricReading, 'values' | 'column'>;

function register(registry: Registry, described: Described, read: () => Pick<MetricReading, 'values' | 'column'>): void {
  // The registry needs only these fields and `get`; prom-client's type requires a class instance.
  registry.registerMetric({ ...described, get: () => Promise.resolve({ ...described, ...read() }) } as unknown as Metric);
}
