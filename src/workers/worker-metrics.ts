/** The metrics of all workers as one set: counters never run backwards, though workers end. */

import { AggregatorRegistry, type PrometheusContentType, type Registry } from 'prom-client';
import { readMetrics } from '../observability/reading';
import type { MetricSnapshot } from './messages';

/** How long a reading waits for the slowest worker, in milliseconds: then what that one last said stands. */
export const READING_TIMEOUT_MS = 1_000;

export interface WorkerMetricsOptions {
  /** Asks all live workers; how many were asked. Their answers come to `hear`. */
  readonly ask: (reading: number) => number;
  /** Of the process that runs the workers. */
  readonly own: Registry;
  /** On every metric that Prometheus is shown. */
  readonly labels?: Readonly<Record<string, string>>;
}

interface Reading {
  missing: number;
  readonly finish: () => void;
}

export class WorkerMetrics {
  readonly contentType: PrometheusContentType;
  /** By worker, what it last said. */
  private readonly last = new Map<number, MetricSnapshot>();
  /** What those that have ended had counted when they last said. */
  private ended: MetricSnapshot = [];
  private readonly readings = new Map<number, Reading>();
  private readingCount = 0;

  constructor(private readonly options: WorkerMetricsOptions) {
    this.contentType = AggregatorRegistry.PROMETHEUS_CONTENT_TYPE;
  }

  hear(worker: number, { reading, snapshot }: { readonly reading: number; readonly snapshot: MetricSnapshot }): void {
    this.last.set(worker, snapshot);
    const waiting = this.readings.get(reading);
    if (waiting === undefined) return;
    waiting.missing -= 1;
    if (waiting.missing === 0) waiting.finish();
  }

  /** A worker has ended: its counts stay, its gauges do not. */
  async retire(worker: number): Promise<void> {
    const snapshot = this.last.get(worker);
    this.last.delete(worker);
    if (snapshot === undefined) return;
    const counts = snapshot.filter(({ type }) => type !== 'gauge');
    const before = this.ended;
    // At once, so that no reading misses them while they are added up.
    this.ended = [...before, ...counts];
    this.ended = await readMetrics(merge([before, counts]));
  }

  /** For Prometheus. */
  async metrics(): Promise<string> {
    const { own, labels = {} } = this.options;
    const merged = await this.merged();
    merged.setDefaultLabels(labels);
    return `${await merged.metrics()}\n${await own.metrics()}`;
  }

  /** All that `metrics` tells. */
  async read(): Promise<MetricSnapshot> {
    return [...(await readMetrics(await this.merged())), ...(await readMetrics(this.options.own))];
  }

  private async merged(): Promise<Registry> {
    await this.askAll();
    return merge([...this.last.values(), this.ended]);
  }

  private askAll(): Promise<void> {
    this.readingCount += 1;
    const reading = this.readingCount;
    return new Promise((resolve) => {
      const finish = (): void => {
        clearTimeout(timer);
        this.readings.delete(reading);
        resolve();
      };
      const timer = setTimeout(finish, READING_TIMEOUT_MS);
      const waiting = { missing: 0, finish };
      this.readings.set(reading, waiting);
      waiting.missing = this.options.ask(reading);
      if (waiting.missing === 0) finish();
    });
  }
}

function merge(snapshots: readonly MetricSnapshot[]): Registry {
  return AggregatorRegistry.aggregate(snapshots.map((snapshot) => [...snapshot]));
}
