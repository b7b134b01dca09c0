/** Percentiles of what a histogram observed between two readings. */

import type { Times } from './live-counts';

/** The observations between two readings, by bucket. */
export function between(earlier: Times | undefined, later: Times): Times {
  const { bounds, counts } = later;
  return { bounds, counts: counts.map((count, bucket) => count - (earlier?.counts[bucket] ?? 0)) };
}

/** In seconds, linear within a bucket, as Prometheus does. Undefined: nothing was observed. Beyond the last finite bound: that bound. */
export function percentile({ bounds, counts }: Times, share: number): number | undefined {
  const total = counts[counts.length - 1] ?? 0;
  if (total <= 0) return undefined;
  const rank = share * total;
  const bucket = counts.findIndex((count) => count >= rank);
  const [upper, lower] = [bounds[bucket] ?? Infinity, bounds[bucket - 1] ?? 0];
  if (!Number.isFinite(upper)) return lower;
  const below = counts[bucket - 1] ?? 0;
  const within = (counts[bucket] ?? 0) - below;
  return within === 0 ? upper : lower + ((upper - lower) * (rank - below)) / within;
}
