/** Metrics that Weir does not name itself: those of prom-client, which docs/metrics.md calls its defaults, and those of Prometheus. */

import type { MetricRow } from '../../../src/server/observability/metrics/metrics';

export const PROCESS_METRICS = {
  cpu: { type: 'counter', name: 'process_cpu_seconds_total', labels: [], help: '' },
  memory: { type: 'gauge', name: 'process_resident_memory_bytes', labels: [], help: '' },
  heapUsed: { type: 'gauge', name: 'nodejs_heap_size_used_bytes', labels: [], help: '' },
  lag: { type: 'gauge', name: 'nodejs_eventloop_lag_p99_seconds', labels: [], help: '' },
} as const satisfies Readonly<Record<string, MetricRow>>;

export const TARGET_METRICS = {
  /** Whether the last scrape succeeded. */
  up: { type: 'gauge', name: 'up', labels: [], help: '' },
  alerts: { type: 'gauge', name: 'ALERTS', labels: ['alertname', 'alertstate', 'severity'], help: '' },
} as const satisfies Readonly<Record<string, MetricRow>>;
