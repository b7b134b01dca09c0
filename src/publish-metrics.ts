/** Opens the ways out for metrics beside the debug port: a port of Prometheus's own, and a statsd server that is told. */

import type { Registry } from 'prom-client';
import type { Settings } from './config/settings';
import type { StatsdChoice } from './config/statsd-choice';
import type { Logger } from './observability/logger';
import { metricsRoute, type MetricsText } from './transport/debug-routes';
import { HttpServer } from './transport/http-server';

export interface PublishMetricsOptions {
  readonly settings: Pick<Settings, 'usePrometheus' | 'prometheusAddr' | 'prometheusPath' | 'disableStats' | 'drainTimeoutMs' | 'statsFlushIntervalMs' | 'extraTags'>;
  /** Undefined: none is told. */
  readonly statsd: StatsdChoice | undefined;
  readonly metrics: MetricsText;
  /** Where what is told of itself is counted. */
  readonly registry: Registry;
  readonly log: Logger;
}

/** Resolves to what ends it: then the last is told. Rejects with SettingsError for a bad mogrifier, and if the port can't be bound. */
export async function publishMetrics({ settings, statsd, metrics, registry, log }: PublishMetricsOptions): Promise<() => Promise<void>> {
  // Not loaded by those who have no such server.
  const reporter = statsd && (await import('./open-statsd.js')).openStatsd({ statsd, settings, registry, read: () => metrics.read(), log });
  const { usePrometheus, prometheusAddr, prometheusPath, disableStats } = settings;
  const server = usePrometheus && !disableStats ? new HttpServer({ routes: new Map([[prometheusPath, metricsRoute(metrics)]]), log }) : undefined;
  if (server !== undefined) {
    const { port } = await server.start(prometheusAddr);
    log.info(`metrics on ${port} at ${prometheusPath}`);
  }
  reporter?.start();
  return async () => {
    await Promise.all([reporter?.stop(), server?.close({ timeoutMs: settings.drainTimeoutMs })]);
  };
}

/** EXTRA_TAGS as Prometheus takes them. */
export function toLabels(tags: ReadonlyMap<string, string> | undefined): Record<string, string> {
  return Object.fromEntries(Array.from(tags ?? [], ([name, value]) => [name.replace(/\W/g, '_').replace(/^(?=\d)/, '_'), value]));
}
