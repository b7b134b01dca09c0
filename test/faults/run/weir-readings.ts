/** What Weir's own metrics say of a run: the sum over its processes, and the difference between two readings. */

import { LATENCY_BUCKETS_SECONDS } from '../../../src/server/observability/metrics/latency-histogram';
import { METRICS } from '../../../src/server/observability/metrics/metrics';
import { httpRequest } from '../../support/clients/http-client';
import type { WeirProcess } from '../../support/processes/weir-process';

/** Every series by its name and labels, as the text shows it. */
export type Readings = ReadonlyMap<string, number>;

export async function readMetrics(weirs: readonly WeirProcess[]): Promise<Readings> {
  const pages = await Promise.all(weirs.map(({ debugPort }) => httpRequest(`http://127.0.0.1:${debugPort}/metrics`)));
  const sums = new Map<string, number>();
  for (const { body } of pages) {
    // One with labels has no series before it counts.
    for (const [, name] of body.matchAll(/^# TYPE (\S+) counter$/gm)) sums.set(name!, sums.get(name!) ?? 0);
    for (const [, series, value] of body.matchAll(/^([a-z_]+(?:\{[^}]*\})?) (\S+)$/gm)) {
      sums.set(series!, (sums.get(series!) ?? 0) + Number(value));
    }
  }
  return sums;
}

export function difference(before: Readings, after: Readings): Readings {
  return new Map([...after].map(([series, value]) => [series, value - (before.get(series) ?? 0)]));
}

/** The sum over all labels. */
export function total(readings: Readings, { name }: { readonly name: string }): number {
  const series = [...readings].filter(([each]) => each === name || each.startsWith(`${name}{`));
  if (series.length === 0) throw new Error(`Weir shows no metric ${name}`);
  return series.reduce((sum, [, value]) => sum + value, 0);
}

/**
 * Response times by the histogram, whose buckets are what is known: a quantile is the upper edge of its bucket.
 * `withinShare`: of the answers, those that took 10 ms or less.
 */
export interface ResponseTimes {
  readonly answers: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  readonly withinShare: number;
}

const PROMISED_SECONDS = 0.01;

export function responseTimes(readings: Readings): ResponseTimes {
  const { name } = METRICS.responseTime;
  const upTo = (edge: string): number =>
    [...readings]
      .filter(([series]) => series.startsWith(`${name}_bucket{`) && series.includes(`le="${edge}"`))
      .reduce((sum, [, value]) => sum + value, 0);
  const answers = upTo('+Inf');
  const quantileMs = (share: number): number => {
    const edge = LATENCY_BUCKETS_SECONDS.find((seconds) => upTo(String(seconds)) >= share * answers);
    return edge === undefined ? Infinity : edge * 1000;
  };
  return {
    answers,
    p50Ms: quantileMs(0.5),
    p99Ms: quantileMs(0.99),
    maxMs: quantileMs(1),
    withinShare: upTo(String(PROMISED_SECONDS)) / answers,
  };
}
