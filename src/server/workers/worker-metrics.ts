/** Merges the metrics of all workers; counters never decrease, even when workers end. */

import { AggregatorRegistry, type Registry } from 'prom-client';
import { PrometheusText } from '../observability/metrics/prometheus-text';
import { readMetrics, type MetricReading } from '../observability/metrics/metrics-snapshot';
import { MergedColumns } from './merged-columns';
import type { FromWorker } from './messages';

/** How long a reading waits for the slowest worker, in milliseconds; after that its last report is used. */
export const READING_TIMEOUT_MS = 1_000;

export interface WorkerMetricsOptions {
  /** Requests the metrics of all live workers and returns their number. The replies come to `record`. */
  readonly ask: (reading: number) => number;
  /** The metrics of the parent itself. */
  readonly own: Registry;
  /** Labels on every metric in the Prometheus text. */
  readonly labels?: Readonly<Record<string, string>>;
}

type CountsMessage = Extract<FromWorker, { kind: 'metrics' | 'metric_rows' }>;

/** Metrics with few series. */
type Few = readonly MetricReading[];

interface Reading {
  missing: number;
  readonly finish: () => void;
}

export class WorkerMetrics {
  private readonly prometheus: PrometheusText;
  private readonly columns = new MergedColumns();
  /** The last report of each worker. */
  private readonly last = new Map<number, Few>();
  /** Final counts of ended workers: one sum, and those that are not yet added to it. */
  private ended: readonly Few[] = [];
  private readonly readings = new Map<number, Reading>();
  private readingCount = 0;

  constructor(private readonly options: WorkerMetricsOptions) {
    this.prometheus = new PrometheusText(options.labels ?? {});
  }

  get contentType(): string {
    return this.prometheus.contentType;
  }

  record(worker: number, message: CountsMessage): void {
    if (message.kind === 'metric_rows') {
      this.columns.addRows(worker, message);
      return;
    }
    const { reading, snapshot } = message;
    this.last.set(worker, snapshot.few);
    this.columns.record(worker, snapshot.columns);
    const waiting = reading === undefined ? undefined : this.readings.get(reading);
    if (waiting === undefined) return;
    waiting.missing -= 1;
    if (waiting.missing === 0) waiting.finish();
  }

  /** Keeps the counters of a worker that ended, and drops its gauges. */
  async retire(worker: number): Promise<void> {
    this.columns.retire(worker);
    const few = this.last.get(worker);
    this.last.delete(worker);
    if (few === undefined) return;
    const counts = few.filter(({ type }) => type !== 'gauge');
    // Set at once, so that no reading misses these counts during the addition.
    const ended = [...this.ended, counts];
    this.ended = ended;
    const sum = await readMetrics(merge(ended));
    // If another worker ended meanwhile, the next end adds them all.
    if (this.ended === ended) this.ended = [sum];
  }

  /** The Prometheus text. */
  async text(): Promise<readonly Buffer[]> {
    return this.prometheus.write(await this.read());
  }

  /** The readings that `text` writes. */
  async read(): Promise<readonly MetricReading[]> {
    await this.requestAll();
    // All three start in one turn, so reports that arrive meanwhile change none of them.
    const [columns, few, own] = await Promise.all([
      this.columns.read(),
      readMetrics(merge([...this.last.values(), ...this.ended])),
      readMetrics(this.options.own),
    ]);
    return [...few, ...columns, ...own];
  }

  private requestAll(): Promise<void> {
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

function merge(processes: readonly Few[]): Registry {
  return AggregatorRegistry.aggregate(processes.map((few) => [...few]));
}
