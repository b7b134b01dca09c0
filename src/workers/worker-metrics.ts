/** The metrics of all workers as one set: counters never run backwards, though workers end. */

import { AggregatorRegistry, type PrometheusContentType, type Registry } from 'prom-client';
import { readMetrics } from '../observability/reading';
import type { FromWorker, MetricSnapshot } from './messages';

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

type WorkerCounts = Extract<FromWorker, { kind: 'metrics' }>;

interface Reading {
  missing: number;
  readonly finish: () => void;
}

export class WorkerMetrics {
  readonly contentType: PrometheusContentType;
  /** By worker, what it last said. */
  private readonly last = new Map<number, MetricSnapshot>();
  /** What those that have ended had counted when they last said: most of them together, those of just now each by itself. */
  private ended: readonly MetricSnapshot[] = [];
  private readonly readings = new Map<number, Reading>();
  private readingCount = 0;

  constructor(private readonly options: WorkerMetricsOptions) {
    this.contentType = AggregatorRegistry.PROMETHEUS_CONTENT_TYPE;
  }

  hear(worker: number, { reading, snapshot }: Omit<WorkerCounts, 'kind'>): void {
    this.last.set(worker, snapshot);
    const waiting = reading === undefined ? undefined : this.readings.get(reading);
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
    // At once, so that no reading misses them while they are added up.
    const ended = [...this.ended, counts];
    this.ended = ended;
    const sum = await readMetrics(merge(ended));
    // If others have ended meanwhile they stay apart, until the next one ends.
    if (this.ended === ended) this.ended = [sum];
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
    return merge([...this.last.values(), ...this.ended]);
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
