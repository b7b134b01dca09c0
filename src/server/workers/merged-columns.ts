/** Merges the rule counters of all workers into one table. */

import { Pace, SHORT_SLICE_MS } from '../../lib/slices';
import type { CountRows, Labels } from '../observability/metrics/count-table';
import { columnReading, type MetricReading } from '../observability/metrics/metrics-snapshot';
import type { ColumnCounts } from './messages';

/** Rows added between two checks of the clock. */
const ROWS_AT_ONCE = 4096;

/** A table merged from all workers, with each label set once. */
interface MergedTable extends CountRows {
  readonly rows: Labels[];
  readonly rowByLabels: Map<string, number>;
}

interface WorkerColumns {
  /** By table: the merged row of each row of the worker. */
  readonly rows: Map<string, number[]>;
  last: readonly ColumnCounts[];
}

/** A worker's counters, and the merged rows that they belong to. */
interface Part {
  readonly rows: ReadonlyMap<string, readonly number[]>;
  readonly columns: readonly ColumnCounts[];
}

export class MergedColumns {
  private readonly tables = new Map<string, MergedTable>();
  private readonly workers = new Map<number, WorkerColumns>();
  /** Final counts of ended workers, by metric and merged row. */
  private readonly ended = new Map<string, { readonly column: ColumnCounts; sums: Float64Array }>();

  /** Adds label sets, which follow those that the worker sent before. */
  addRows(worker: number, { table, rows }: { readonly table: string; readonly rows: readonly Labels[] }): void {
    const merged = this.tableOf(table);
    const { rows: own } = this.workerOf(worker);
    const places = own.get(table) ?? [];
    own.set(table, places);
    for (const labels of rows) {
      const key = JSON.stringify(labels);
      let place = merged.rowByLabels.get(key);
      if (place === undefined) {
        place = merged.rows.push(labels) - 1;
        merged.rowByLabels.set(key, place);
      }
      places.push(place);
    }
  }

  record(worker: number, columns: readonly ColumnCounts[]): void {
    this.workerOf(worker).last = columns;
  }

  /** Keeps the final counts of a worker that ended. */
  retire(worker: number): void {
    const known = this.workers.get(worker);
    this.workers.delete(worker);
    if (known === undefined) return;
    for (const column of known.last) {
      const { length } = this.tableOf(column.table).rows;
      const sums = new Float64Array(length);
      sums.set(this.ended.get(column.name)?.sums ?? []);
      addTo(sums, { column, places: known.rows.get(column.table) ?? [] });
      this.ended.set(column.name, { column, sums });
    }
  }

  /** The counts that each worker last sent before this call. */
  async read(): Promise<readonly MetricReading[]> {
    const parts: readonly Part[] = Array.from(this.workers.values(), ({ rows, last }) => ({ rows, columns: last }));
    const described = new Map<string, ColumnCounts>();
    for (const { column } of this.ended.values()) described.set(column.name, column);
    for (const { columns } of parts) for (const column of columns) described.set(column.name, column);
    const begun = Array.from(described.values(), (column) => {
      const sums = new Float64Array(this.tableOf(column.table).rows.length);
      sums.set(this.ended.get(column.name)?.sums ?? []);
      return { column, sums };
    });
    const pace = new Pace(SHORT_SLICE_MS);
    const readings: MetricReading[] = [];
    for (const {
      column: { name, help, table },
      sums,
    } of begun) {
      for (const { rows, columns } of parts) {
        const column = columns.find((each) => each.name === name);
        const places = rows.get(table) ?? [];
        for (let from = 0; column !== undefined && from < column.counts.length; from += ROWS_AT_ONCE) {
          addTo(sums, { column, places, from, to: from + ROWS_AT_ONCE });
          if (pace.isOver) await pace.nextSlice();
        }
      }
      readings.push({ name, help, type: 'counter', ...columnReading({ table: this.tableOf(table), counts: sums }) });
    }
    return readings;
  }

  private tableOf(name: string): MergedTable {
    const known = this.tables.get(name);
    if (known !== undefined) return known;
    const table: MergedTable = { name, rows: [], rowByLabels: new Map() };
    this.tables.set(name, table);
    return table;
  }

  private workerOf(id: number): WorkerColumns {
    const known = this.workers.get(id);
    if (known !== undefined) return known;
    const worker: WorkerColumns = { rows: new Map(), last: [] };
    this.workers.set(id, worker);
    return worker;
  }
}

interface Added {
  readonly column: ColumnCounts;
  /** The merged row of each row of the worker. */
  readonly places: readonly number[];
  readonly from?: number;
  readonly to?: number;
}

function addTo(sums: Float64Array, { column: { counts }, places, from = 0, to = Infinity }: Added): void {
  const end = Math.min(to, counts.length);
  for (let row = from; row < end; row += 1) {
    const place = places[row];
    if (place !== undefined) sums[place] = (sums[place] ?? 0) + (counts[row] ?? 0);
  }
}
