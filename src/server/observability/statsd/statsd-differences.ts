/** Computes the statsd lines of a flush: the growth of counters since the last flush, the values of gauges, and durations. */

import type { Stat, TimeBucket } from './statsd-names';

export interface StatsdLine {
  readonly kind: 'counter' | 'gauge' | 'time';
  readonly name: string;
  /** Durations are in milliseconds. */
  readonly value: number;
}

/** Durations per name and flush. They are a sample: their percentiles are right, their number is not. */
export const TIMES_MAX = 100;

export class StatsdDifferences {
  private readonly last = new Map<string, number>();

  /** Returns the changes since the last call; the first call counts from zero. */
  take(stats: readonly Stat[]): StatsdLine[] {
    const grown = (key: string, value: number): number => {
      const before = this.last.get(key) ?? 0;
      if (value !== before) this.last.set(key, value);
      // A counter that decreased was reset.
      return value >= before ? value - before : value;
    };
    const lines: StatsdLine[] = [];
    for (const stat of stats) {
      if (stat.kind === 'times') {
        const { name } = stat;
        const buckets = stat.buckets.map(({ upToS, count }) => ({ upToS, count: grown(`${name} ${upToS}`, count) }));
        for (const value of spread(buckets)) lines.push({ kind: 'time', name, value });
      } else if (stat.kind === 'gauge') {
        lines.push({ kind: 'gauge', name: stat.name, value: stat.value });
      } else {
        const value = grown(stat.name, stat.value);
        if (value > 0) lines.push({ kind: 'counter', name: stat.name, value });
      }
    }
    return lines;
  }
}

/** Returns at most TIMES_MAX durations in milliseconds, distributed like the buckets and evenly within a bucket. */
function spread(buckets: readonly TimeBucket[]): number[] {
  const sorted = [...buckets].sort((a, b) => a.upToS - b.upToS);
  const total = sorted.at(-1)?.count ?? 0;
  const times = Math.min(total, TIMES_MAX);
  const spreadMs: number[] = [];
  let [bucket, fromS, before] = [0, 0, 0];
  for (let i = 0; i < times; i += 1) {
    const rank = ((i + 0.5) / times) * total;
    for (let each = sorted[bucket]; each !== undefined && each.count < rank; each = sorted[bucket]) {
      [bucket, fromS, before] = [bucket + 1, each.upToS, each.count];
    }
    const { upToS, count } = sorted[bucket] ?? { upToS: fromS, count: before };
    // Above the last bound only the bound is known.
    const seconds = upToS === Infinity ? fromS : fromS + (upToS - fromS) * ((rank - before) / (count - before || 1));
    spreadMs.push(Math.round(seconds * 1e6) / 1e3);
  }
  return spreadMs;
}
