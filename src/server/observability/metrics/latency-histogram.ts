/** A histogram of durations: observing adds to plain numbers, and a reading makes prom-client's form of them. */

import type { Registry } from 'prom-client';
import { registerRead, type ReadValue } from './metrics-snapshot';

/** Seconds, from 50 µs: decisions take well under a millisecond. */
export const LATENCY_BUCKETS_SECONDS: readonly number[] = [
  0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
];

type Labels<Label extends string> = Readonly<Record<Label, string>>;

/** The durations of one label set. The observer keeps it, so that an observation needs no lookup. */
export class LatencySeries {
  /** Observations per bucket, not cumulative; the last bucket is above all bounds. */
  private readonly counts: number[] = [...LATENCY_BUCKETS_SECONDS, Infinity].map(() => 0);
  private sum = 0;

  observe(seconds: number): void {
    let bucket = 0;
    while (seconds > (LATENCY_BUCKETS_SECONDS[bucket] ?? Infinity)) bucket += 1;
    this.counts[bucket] = (this.counts[bucket] ?? 0) + 1;
    this.sum += seconds;
  }

  get count(): number {
    return this.counts.reduce((sum, each) => sum + each, 0);
  }

  /** Cumulative, as Prometheus defines buckets. */
  values(name: string, labels: Labels<string>): ReadValue[] {
    let count = 0;
    const buckets = this.counts.map((each, bucket) => {
      count += each;
      return { metricName: `${name}_bucket`, labels: { le: LATENCY_BUCKETS_SECONDS[bucket] ?? '+Inf', ...labels }, value: count };
    });
    return [...buckets, { metricName: `${name}_sum`, labels, value: this.sum }, { metricName: `${name}_count`, labels, value: count }];
  }
}

export class LatencyHistogram<Label extends string> {
  private readonly series = new Map<string, { readonly labels: Labels<Label>; readonly times: LatencySeries }>();

  constructor(registry: Registry, { name, help }: { readonly name: string; readonly help: string }) {
    registerRead(registry, { name, help, type: 'histogram', values: () => this.values(name) });
  }

  /** Returns the series of these labels, which from now on is shown even while empty. */
  with(labels: Labels<Label>): LatencySeries {
    const key = JSON.stringify(labels);
    const known = this.series.get(key);
    if (known !== undefined) return known.times;
    const times = new LatencySeries();
    this.series.set(key, { labels, times });
    return times;
  }

  /** Shows the series of another histogram here too, so that a time is observed once. */
  share(labels: Labels<Label>, times: LatencySeries): void {
    this.series.set(JSON.stringify(labels), { labels, times });
  }

  /** The number of all observations. */
  get count(): number {
    return Array.from(this.series.values()).reduce((sum, { times }) => sum + times.count, 0);
  }

  /** The number of observations of each label set. */
  counts(): { readonly labels: Labels<Label>; readonly count: number }[] {
    return Array.from(this.series.values(), ({ labels, times }) => ({ labels, count: times.count }));
  }

  private values(name: string): ReadValue[] {
    return Array.from(this.series.values(), ({ labels, times }) => times.values(name, labels)).flat();
  }
}
