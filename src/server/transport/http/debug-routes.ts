/** The routes of the debug port: the rules in force, the metrics, and an index page. */

import { OneAtATime } from '../../../lib/one-at-a-time';
import { runInSlices, Pace, SHORT_SLICE_MS } from '../../../lib/slices';
import { ByteChunks } from '../../observability/metrics/byte-chunks';
import type { MetricReading } from '../../observability/metrics/metrics-snapshot';
import { StatsJson } from '../../observability/statsd/stats-json';
import { forMethods, textReply, type HttpReply, type Route } from './http-server';

/** Methods that change nothing. */
const READING = ['GET', 'HEAD'] as const;

/** Lines between two checks of the clock. */
const LINES_AT_ONCE = 64;

export interface DebugRoutesOptions {
  /** One line for each configured rule, without a line end. */
  readonly configLines: () => Promise<readonly string[]>;
  readonly metrics: PublishedMetrics;
}

/** The metrics as Prometheus text, and as readings. */
export interface PublishedMetrics {
  readonly contentType: string;
  text(): Promise<readonly Buffer[]>;
  read(): Promise<readonly MetricReading[]>;
}

export function debugRoutes({ configLines, metrics }: DebugRoutesOptions): ReadonlyMap<string, Route> {
  const stats = new StatsJson();
  const endpoints: readonly (readonly [path: string, route: Route, help: string])[] = [
    ['/metrics', metricsRoute(metrics), 'the metrics, for Prometheus'],
    [
      '/rlconfig',
      longRoute('text/plain; charset=utf-8', async () => runInSlices(writeLines(await configLines()), new Pace(SHORT_SLICE_MS))),
      'the configuration in force, a line for each limit',
    ],
    [
      '/stats',
      longRoute('application/json', async () => runInSlices(stats.write(await metrics.read()), new Pace(SHORT_SLICE_MS))),
      'the metrics under their names in statsd, and the memory of this process',
    ],
  ];
  const index = endpoints
    .map(([path, , help]) => `${path}: ${help}\n`)
    .sort()
    .join('');
  return new Map<string, Route>([
    ['/', forMethods(READING, () => textReply(200, index))],
    ...endpoints.map(([path, route]) => [path, route] as const),
  ]);
}

/** Also served on the port of PROMETHEUS_ADDR. */
export function metricsRoute(metrics: PublishedMetrics): Route {
  return longRoute(metrics.contentType, () => metrics.text());
}

/** A reply written in many slices: one at a time, shared by all clients that wait for it. */
function longRoute(contentType: string, write: () => Promise<readonly Buffer[]>): Route {
  const writing = new OneAtATime(write);
  return forMethods(READING, async (): Promise<HttpReply> => ({ status: 200, contentType, body: await writing.run() }));
}

function* writeLines(lines: readonly string[]): Generator<undefined, readonly Buffer[]> {
  const chunks = new ByteChunks();
  for (const [i, line] of lines.entries()) {
    chunks.add(`${line}\n`);
    if (i % LINES_AT_ONCE === 0) yield;
  }
  return chunks.end();
}
