/** Publishes the metrics: on the debug port, on the port of PROMETHEUS_ADDR, and to a statsd server. */

import type { Registry } from 'prom-client';
import type { Settings } from '../../../configuration/settings/table/settings';
import type { StatsdChoice } from '../../../configuration/settings/statsd-choice';
import type { EndedCertificates } from '../../../server/observability/ended-certificates';
import { event } from '../../../server/observability/log/log-event';
import type { Logger } from '../../../server/observability/log/logger';
import type { MetricReading } from '../../../server/observability/metrics/metrics-snapshot';
import { makeConfigMetrics, type ManagementServer } from '../../../server/observability/metrics/metrics';
import { CertificateExpiry } from '../../../server/observability/metrics/certificate-expiry';
import { RuleLimitMetric } from '../../../server/observability/metrics/rule-limit-metric';
import { TOP_KEY_METRIC } from '../../../server/observability/metrics/top-key-metric';
import type { RulesInForce } from '../../../configuration/source/rules-in-force';
import type { PortLimit } from './port-limits';
import type { Bind } from '../start/bind-all';
import { metricsRoute, type PublishedMetrics } from '../../../server/transport/http/debug-routes';
import { HttpServer } from '../../../server/transport/http/http-server';
import { listenOn } from '../../../server/transport/port/listen-error';

/** Interval between two looks at the ends of certificate files, in milliseconds. */
const CERTIFICATES_MS = 60_000;

export interface PublishMetricsOptions {
  readonly settings: Pick<
    Settings,
    'usePrometheus' | 'prometheusAddr' | 'prometheusPath' | 'disableStats' | 'drainTimeoutMs' | 'statsFlushIntervalMs' | 'extraTags'
  >;
  /** Undefined: no statsd server. */
  readonly statsd: StatsdChoice | undefined;
  readonly metrics: PublishedMetrics;
  /** The registry for the reporter's own metrics. */
  readonly registry: Registry;
  readonly log: Logger;
  /** Limit of the port of PROMETHEUS_ADDR. */
  readonly limit: PortLimit;
}

export interface MetricsPublisher {
  /** Binds the port of PROMETHEUS_ADDR, if it is enabled. Rejects with ListenError. */
  readonly bind: Bind;
  /** Starts to report to the statsd server, if there is one. */
  start(): void;
  /** Sends a last report and stops. */
  close(): Promise<void>;
}

/** Rejects with SettingsError for an invalid mogrifier. */
export async function publishMetrics({
  settings,
  statsd,
  metrics,
  registry,
  log,
  limit,
}: PublishMetricsOptions): Promise<MetricsPublisher> {
  // Imported only if there is a statsd server.
  const reporter =
    statsd &&
    (await import('../telemetry/open-statsd.js')).openStatsd({
      statsd,
      settings,
      registry,
      read: async () => (await metrics.read()).filter(isForStatsd),
      log,
    });
  const { usePrometheus, prometheusAddr, prometheusPath, disableStats } = settings;
  const server =
    usePrometheus && !disableStats
      ? new HttpServer({ routes: new Map([[prometheusPath, metricsRoute(metrics)]]), log, ...limit })
      : undefined;
  return {
    bind: async () => {
      if (server === undefined) return {};
      const { port } = await listenOn({ ...prometheusAddr, hostSetting: 'PROMETHEUS_ADDR', portSetting: 'PROMETHEUS_ADDR' }, () =>
        server.start(prometheusAddr),
      );
      log.info(
        event('metrics_listening', { port, path: prometheusPath }),
        `serving metrics for Prometheus on port ${port} at ${prometheusPath}`,
      );
      return {};
    },
    start: () => {
      reporter?.start();
    },
    close: async () => {
      await Promise.all([reporter?.stop(), server?.close({ timeoutMs: settings.drainTimeoutMs })]);
    },
  };
}

export interface OpenConfigMetricsOptions {
  readonly registry: Registry;
  readonly rules: RulesInForce;
  readonly settings: Pick<
    Settings,
    'metricSeriesMax' | 'sanitizeDescriptorMetricDots' | 'adminTlsCert' | 'redisTlsClientCert' | 'configGrpcXdsClientTlsCert'
  >;
  readonly managementServer?: ManagementServer | undefined;
  readonly ended: EndedCertificates;
}

/** Registers the metrics of the process that loads the configuration. */
export function openConfigMetrics({ registry, rules, settings, managementServer, ended }: OpenConfigMetricsOptions): void {
  const { metricSeriesMax: seriesMax, sanitizeDescriptorMetricDots: sanitizeDots } = settings;
  makeConfigMetrics({ registry, loads: rules, managementServer });
  new RuleLimitMetric({ registry, rules, seriesMax, sanitizeDots });
  const files = [
    { setting: 'ADMIN_TLS_CERT', file: settings.adminTlsCert },
    { setting: 'REDIS_TLS_CLIENT_CERT', file: settings.redisTlsClientCert },
    { setting: 'CONFIG_GRPC_XDS_CLIENT_TLS_CERT', file: settings.configGrpcXdsClientTlsCert },
  ];
  const expiry = new CertificateExpiry(registry, files, (setting, endsAtS) => {
    ended.show(setting, endsAtS);
  });
  // The look happens even if nobody reads the metrics.
  setInterval(() => void expiry.refresh(), CERTIFICATES_MS).unref();
}

/** @throws ListenError if the address cannot be bound */
export async function bindDebugPort(
  server: HttpServer,
  { debugHost: host, debugPort: port }: Pick<Settings, 'debugHost' | 'debugPort'>,
): Promise<{ debug: number }> {
  const bound = await listenOn({ host, port, hostSetting: 'DEBUG_HOST', portSetting: 'DEBUG_PORT' }, () => server.start({ host, port }));
  return { debug: bound.port };
}

/** A statsd server keeps every name that it ever saw, and top keys change. */
function isForStatsd({ name }: MetricReading): boolean {
  return name !== TOP_KEY_METRIC.name;
}
