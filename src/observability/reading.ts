/** What prom-client tells of the metrics of a registry, as far as it is used here. */

import type { Metric, Registry } from 'prom-client';

/** One metric. */
export interface MetricReading {
  readonly name: string;
  readonly type: string;
  readonly values: readonly ReadValue[];
}

export interface ReadValue {
  /** Of a histogram: its own name, with `_bucket`, `_sum` or `_count`. */
  readonly metricName?: string;
  readonly labels: Readonly<Record<string, string | number | undefined>>;
  readonly value: number;
}

/** Its values are the same; only prom-client's type of them says otherwise. */
export async function readMetrics(registry: Registry): Promise<readonly MetricReading[]> {
  return (await registry.getMetricsAsJSON()) as unknown as readonly MetricReading[];
}

export interface ReadMetricOptions {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'histogram';
  /** Called whenever the metric is read. */
  readonly values: () => readonly ReadValue[];
}

/** Registers a metric that is kept elsewhere: nothing of it is looked up or copied until it is read. */
export function registerRead(registry: Registry, { name, help, type, values }: ReadMetricOptions): void {
  const described = { name, help, type, aggregator: 'sum' };
  // All that a registry asks of a metric; its type names the classes that it brings along.
  registry.registerMetric({ ...described, get: () => Promise.resolve({ ...described, values: values() }) } as unknown as Metric);
}
