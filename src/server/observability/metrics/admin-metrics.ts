/** The metrics of the admin API: requests, failed tries and open streams, as its thread reports them. */

import { Counter, Gauge, type Registry } from 'prom-client';
import { LatencyHistogram } from './latency-histogram';
import type { MetricRow } from './metrics';

/** Only with `ADMIN_PORT`; with workers, of the parent process. */
export const ADMIN_METRICS = {
  requests: {
    type: 'counter',
    name: 'weir_admin_requests_total',
    labels: ['operation', 'status'],
    help: 'Requests of the admin API by operationId (`none`: no route) and class of the status, such as `2xx`.',
  },
  durations: {
    type: 'histogram',
    name: 'weir_admin_request_duration_seconds',
    labels: [],
    help: 'Time of a request of the admin API; without streams.',
  },
  failedTries: {
    type: 'counter',
    name: 'weir_admin_failed_tries_total',
    labels: [],
    help: 'Requests of the admin API without valid credentials, and those refused after too many of them.',
  },
  streams: { type: 'gauge', name: 'weir_admin_streams', labels: [], help: 'Open streams of `GET /v1/tail`.' },
} as const satisfies Readonly<Record<string, MetricRow>>;

export interface AdminRequestCount {
  readonly operation: string;
  readonly status: number;
  /** Undefined: it was a stream. */
  readonly seconds?: number;
}

/** The counts of the thread since its last report. */
export interface AdminCounts {
  readonly requests: readonly AdminRequestCount[];
  readonly failedTries: number;
  /** Open streams now. */
  readonly streams: number;
}

export class AdminMetrics {
  private readonly requests: Counter<'operation' | 'status'>;
  private readonly failedTries: Counter;
  private readonly streams: Gauge;
  private readonly durations: { observe(seconds: number): void };

  constructor(registry: Registry) {
    const registers = [registry];
    const { requests, failedTries, streams, durations } = ADMIN_METRICS;
    this.requests = new Counter({ ...requests, labelNames: [...requests.labels], registers });
    this.failedTries = new Counter({ ...failedTries, labelNames: [], registers });
    this.streams = new Gauge({ ...streams, labelNames: [], registers });
    this.durations = new LatencyHistogram<never>(registry, durations).with({});
  }

  add({ requests, failedTries, streams }: AdminCounts): void {
    for (const { operation, status, seconds } of requests) {
      this.requests.inc({ operation, status: `${Math.floor(status / 100)}xx` });
      if (seconds !== undefined) this.durations.observe(seconds);
    }
    this.failedTries.inc(failedTries);
    this.streams.set(streams);
  }
}
