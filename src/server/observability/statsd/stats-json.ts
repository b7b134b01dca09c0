/** Formats the metrics under their statsd names as JSON, in slices. */

import { ByteChunks } from '../metrics/byte-chunks';
import type { CountColumn, CountRows } from '../metrics/count-table';
import type { MetricReading } from '../metrics/metrics-snapshot';
import { statsdNameOf, toStats, type Stat } from './statsd-names';

/** Rows between two checks of the clock. */
const ROWS_AT_ONCE = 32;

/** The rows of a table by statsd name; several label sets may share a name. */
interface NamedRows {
  readonly firstByName: Map<string, number>;
  /** For each row the first row with the same name. */
  readonly first: number[];
}

export class StatsJson {
  /** Cached, because a table only grows: building the names for each reading would burden the garbage collector. */
  private readonly named = new WeakMap<CountRows, NamedRows>();

  /** A missing name has no counts yet. Names of rules come in order of first use, all others before them, sorted. */
  *write(readings: readonly MetricReading[]): Generator<undefined, readonly Buffer[]> {
    const few: MetricReading[] = [];
    for (const reading of readings) if (reading.column === undefined) few.push(reading);
    const stats = (yield* toStats(few)).sort((one, other) => (one.name < other.name ? -1 : 1));
    const chunks = new ByteChunks();
    chunks.add(
      `{\n  "uptime_seconds": ${Math.floor(process.uptime())},\n  "memory": ${JSON.stringify(process.memoryUsage())},\n  "stats": {`,
    );
    let separator = '\n';
    for (const stat of stats) {
      chunks.add(`${separator}    ${JSON.stringify(stat.name)}: ${valueOf(stat)}`);
      separator = ',\n';
    }
    for (const { name, column } of readings) {
      if (column === undefined || column.isGauge === true) continue;
      for (const line of this.linesOf(name, column)) {
        if (line === undefined) {
          yield;
          continue;
        }
        chunks.add(separator + line);
        separator = ',\n';
      }
    }
    chunks.add('\n  }\n}\n');
    return chunks.end();
  }

  /** Yields undefined between lines, as a point to pause. */
  private *linesOf(metric: string, column: CountColumn): Generator<string | undefined> {
    const {
      table: { rows },
    } = column;
    const { first } = yield* this.namesOf(metric, column);
    const sums = column.counts.slice();
    for (let row = 0; row < sums.length; row += 1) {
      const named = first[row] ?? row;
      if (named === row) continue;
      sums[named] = (sums[named] ?? 0) + (sums[row] ?? 0);
      sums[row] = 0;
    }
    for (let row = 0; row < sums.length; row += 1) {
      const value = sums[row] ?? 0;
      if (value > 0) yield `    ${JSON.stringify(statsdNameOf(metric, rows[row] ?? {}))}: ${value}`;
      if (row % ROWS_AT_ONCE === 0) yield undefined;
    }
  }

  /** All columns of a table have the same labels, so rows with the same name in one metric have it in all. */
  private *namesOf(metric: string, { table, counts }: CountColumn): Generator<undefined, NamedRows> {
    const named = this.named.get(table) ?? { firstByName: new Map<string, number>(), first: [] };
    this.named.set(table, named);
    while (named.first.length < counts.length) {
      const row = named.first.length;
      const name = statsdNameOf(metric, table.rows[row] ?? {});
      const first = named.firstByName.get(name) ?? row;
      named.firstByName.set(name, first);
      named.first.push(first);
      if (row % ROWS_AT_ONCE === 0) yield;
    }
    return named;
  }
}

/** For a set of durations, their number. */
function valueOf(stat: Stat): number {
  return stat.kind === 'times' ? Math.max(0, ...stat.buckets.map(({ count }) => count)) : stat.value;
}
