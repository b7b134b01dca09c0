/** What the debug port serves: the rules as loaded, the metrics, and the same for people. */

import type { MetricReading } from '../observability/reading';
import { toStats, type Stat } from '../observability/statsd-names';
import { textReply, type Route } from './http-server';

export interface DebugRoutesOptions {
  /** One line for each configured rule, without a line end. */
  readonly configLines: () => readonly string[];
  readonly metrics: MetricsText;
}

/** The metrics for Prometheus, and as they are read. */
export interface MetricsText {
  readonly contentType: string;
  metrics(): Promise<string>;
  read(): Promise<readonly MetricReading[]>;
}

export function debugRoutes({ configLines, metrics }: DebugRoutesOptions): ReadonlyMap<string, Route> {
  const endpoints: readonly (readonly [path: string, route: Route, help: string])[] = [
    ['/metrics', metricsRoute(metrics), 'the metrics, for Prometheus'],
    ['/rlconfig', () => textReply(200, lines(configLines())), 'the configuration in force, a line for each limit'],
    ['/stats', async () => jsonReply(statsOf(await metrics.read())), 'the metrics under their names in statsd, and the memory of this process'],
  ];
  const index = lines(endpoints.map(([path, , help]) => `${path}: ${help}`).sort());
  return new Map<string, Route>([['/', () => textReply(200, index)], ...endpoints.map(([path, route]) => [path, route] as const)]);
}

/** Also for a port of its own. */
export function metricsRoute(metrics: MetricsText): Route {
  return async () => ({ status: 200, contentType: metrics.contentType, body: await metrics.metrics() });
}

/** A name that is missing has not been counted yet. */
function statsOf(reading: readonly MetricReading[]): object {
  const stats = toStats(reading).sort((a, b) => (a.name < b.name ? -1 : 1));
  return { uptime_seconds: Math.floor(process.uptime()), memory: process.memoryUsage(), stats: Object.fromEntries(stats.map((stat) => [stat.name, valueOf(stat)])) };
}

/** Of times their number. */
function valueOf(stat: Stat): number {
  return stat.kind === 'times' ? Math.max(0, ...stat.buckets.map(({ count }) => count)) : stat.value;
}

function jsonReply(value: object): ReturnType<typeof textReply> {
  return { status: 200, contentType: 'application/json', body: `${JSON.stringify(value, undefined, 2)}\n` };
}

function lines(items: readonly string[]): string {
  return items.map((item) => `${item}\n`).join('');
}
