/** Formats a reading as Prometheus text in slices: prom-client writes the metrics with few series, this file writes the series of rules. */

import { Registry, type Metric } from 'prom-client';
import { Pace, SHORT_SLICE_MS } from '../../../lib/slices';
import { ByteChunks } from './byte-chunks';
import { isShown, type CountColumn, type CountRows, type Labels } from './count-table';
import type { MetricReading } from './metrics-snapshot';

/** Lines between two checks of the clock. */
const LINES_AT_ONCE = 32;

export class PrometheusText {
  readonly contentType = Registry.PROMETHEUS_CONTENT_TYPE;
  /** Formatted label sets by table and row; they never change. */
  private readonly texts = new WeakMap<CountRows, string[]>();

  /** `labels` are added to every series that lacks a label of that name. */
  constructor(private readonly labels: Readonly<Record<string, string>>) {}

  async write(readings: readonly MetricReading[]): Promise<readonly Buffer[]> {
    const pace = new Pace(SHORT_SLICE_MS);
    const small = new Registry();
    small.setDefaultLabels(this.labels);
    const chunks = new ByteChunks();
    for (const [i, reading] of readings.entries()) {
      if (i > 0) chunks.add('\n');
      if (reading.column === undefined) {
        small.registerMetric(asMetric(reading));
        chunks.add(`${await small.getSingleMetricAsString(reading.name)}\n`);
        if (pace.isOver) await pace.nextSlice();
        continue;
      }
      const { name, help, type } = reading;
      chunks.add(`# HELP ${name} ${escaped(help)}\n# TYPE ${name} ${type}\n`);
      for (const lines of this.linesOf(name, reading.column)) {
        chunks.add(lines);
        if (pace.isOver) await pace.nextSlice();
      }
    }
    return chunks.end();
  }

  private *linesOf(name: string, column: CountColumn): Generator<string> {
    const { table, counts } = column;
    const texts = this.textsOf(table);
    let lines = '';
    for (let row = 0; row < counts.length; row += 1) {
      const value = counts[row] ?? 0;
      if (isShown(value, column)) lines += `${name}{${(texts[row] ??= this.textOf(table.rows[row]))}} ${value}\n`;
      if (row % LINES_AT_ONCE !== LINES_AT_ONCE - 1) continue;
      yield lines;
      lines = '';
    }
    yield lines;
  }

  private textsOf(table: CountRows): string[] {
    const known = this.texts.get(table);
    if (known !== undefined) return known;
    const texts: string[] = [];
    this.texts.set(table, texts);
    return texts;
  }

  private textOf(labels: Labels = {}): string {
    return Object.entries({ ...labels, ...this.labels, ...labels })
      .flatMap(([label, value]) => (value === undefined ? [] : [`${label}="${escaped(value).replaceAll('"', '\\"')}"`]))
      .join(',');
  }
}

/** The writer of prom-client needs only these fields; its type requires a class instance. */
function asMetric(reading: MetricReading): Metric {
  return { name: reading.name, get: () => Promise.resolve(reading) } as unknown as Metric;
}

function escaped(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
}

/** EXTRA_TAGS as Prometheus labels. */
export function toLabels(tags: ReadonlyMap<string, string> | undefined): Record<string, string> {
  return Object.fromEntries(Array.from(tags ?? [], ([name, value]) => [name.replace(/\W/g, '_').replace(/^(?=\d)/, '_'), value]));
}
