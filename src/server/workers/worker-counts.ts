/** Sends the metrics of a worker to its parent: each label set once, then only numbers. */

import { Pace, SHORT_SLICE_MS } from '../../lib/slices';
import type { CountRows } from '../observability/metrics/count-table';
import type { MetricReading, ReadValue } from '../observability/metrics/metrics-snapshot';
import type { ColumnCounts, FromWorker } from './messages';

/** Label sets in one message. */
const ROWS_AT_ONCE = 128;

export type Send = (message: FromWorker) => Promise<void>;

export class WorkerCounts {
  /** By table: how many of its rows were sent. */
  private readonly sent = new Map<string, number>();
  /** Resolves after all earlier messages were sent: the parent identifies rows by their order. */
  private queue: Promise<void> = Promise.resolve();

  constructor(private readonly sendToParent: Send) {}

  /** Sends the metrics. `reading` is the request that they answer, if any. Resolves when they are sent. */
  report(readings: readonly MetricReading[], reading?: number): Promise<void> {
    this.queue = this.queue.then(() => this.sendAll(readings, reading));
    return this.queue;
  }

  private async sendAll(readings: readonly MetricReading[], reading: number | undefined): Promise<void> {
    const few: MetricReading[] = [];
    const columns: ColumnCounts[] = [];
    for (const { column, values, ...described } of readings) {
      if (column === undefined) {
        few.push({ ...described, values: values as readonly ReadValue[] });
        continue;
      }
      await this.sendRows(column.table);
      columns.push({ name: described.name, help: described.help, table: column.table.name, counts: column.counts });
    }
    await this.sendToParent({ kind: 'metrics', ...(reading !== undefined && { reading }), snapshot: { few, columns } });
  }

  private async sendRows({ name, rows }: CountRows): Promise<void> {
    const pace = new Pace(SHORT_SLICE_MS);
    const length = rows.length;
    for (let from = this.sent.get(name) ?? 0; from < length; from += ROWS_AT_ONCE) {
      const next = Math.min(from + ROWS_AT_ONCE, length);
      this.sent.set(name, next);
      await this.sendToParent({ kind: 'metric_rows', table: name, rows: rows.slice(from, next) });
      if (pace.isOver) await pace.nextSlice();
    }
  }
}
