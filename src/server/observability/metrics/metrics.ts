/** The tables of the metrics that are not of a rule, a top key or the admin API, and what makes them. */

import { getHeapStatistics } from 'node:v8';
import { collectDefaultMetrics, Counter, Gauge, type Registry } from 'prom-client';
import { STARTED_AT_MS } from '../../../lib/clock';
import { LatencyHistogram } from './latency-histogram';

/** A row of docs/metrics.md. */
export interface MetricRow {
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly name: string;
  readonly labels: readonly string[];
  readonly help: string;
  /** Name in statsd, with `{label}` for the value of a label; default: derived from the name. */
  readonly statsd?: string;
  /** How to merge the values of several workers; default: sum. */
  readonly aggregator?: 'sum' | 'min' | 'max' | 'first';
}

export const METRICS = {
  responseTime: {
    type: 'histogram',
    name: 'ratelimit_service_response_time_seconds',
    statsd: 'ratelimit_server.{grpc_method}.response_time',
    labels: ['grpc_method'],
    help: 'Time from the arrival of a gRPC call to its answer.',
  },
  decisionTime: {
    type: 'histogram',
    name: 'weir_decision_seconds',
    labels: ['via'],
    help: 'Time from the arrival of a request to its answer: grpc (ShouldRateLimit), json or check (HTTP; from the end of the body on), reservation (Reserve, and the checks and reports of Kuadrant).',
  },
  totalRequests: {
    type: 'counter',
    name: 'ratelimit_service_total_requests',
    statsd: 'ratelimit_server.{grpc_method}.total_requests',
    labels: ['grpc_method'],
    help: 'gRPC calls answered.',
  },
  shouldRateLimitError: {
    type: 'counter',
    name: 'ratelimit_service_should_rate_limit_error',
    statsd: 'ratelimit.service.call.should_rate_limit.{err_type}',
    labels: ['err_type'],
    help: 'Requests without a decision: redis_error (Redis failed, or no configuration yet) or service_error (all others).',
  },
  grpcConnections: {
    type: 'gauge',
    name: 'weir_grpc_connections',
    labels: [],
    help: 'Open connections to the gRPC port.',
  },
  grpcConnectionsEnded: {
    type: 'counter',
    name: 'weir_grpc_connections_ended_total',
    labels: ['reason'],
    help: 'Connections that Weir closed or refused: protocol_error, flood, handshake_timeout, stalled, max_age, keepalive, tls, too_many or fault (internal). TRANSPORT=grpc-js reports only handshake_timeout (of TLS), tls and too_many.',
  },
  grpcStreamsRefused: {
    type: 'counter',
    name: 'weir_grpc_streams_refused_total',
    labels: [],
    help: 'Calls refused by GRPC_MAX_CONCURRENT_STREAMS. Not reported with TRANSPORT=grpc-js.',
  },
  grpcCertificateReloads: {
    type: 'counter',
    name: 'weir_grpc_certificate_reloads_total',
    labels: ['result'],
    help: 'Reloads of changed gRPC certificates: success, or error if Weir kept the last good ones.',
  },
  grpcCertificateExpiry: {
    type: 'gauge',
    name: 'weir_grpc_certificate_expiry_timestamp_seconds',
    aggregator: 'min',
    labels: [],
    help: 'Expiry of the certificate in use on the gRPC port, in Unix time; 0 without TLS.',
  },
  configGeneration: {
    type: 'gauge',
    name: 'weir_config_generation',
    aggregator: 'min',
    labels: [],
    help: 'Number of the configuration in force: 1 for the first, 0 while none is loaded. With workers: the lowest.',
  },
  globalShadowMode: {
    type: 'counter',
    name: 'ratelimit_service_global_shadow_mode',
    statsd: 'ratelimit.service.global_shadow_mode',
    labels: [],
    help: 'Requests that passed only because of SHADOW_MODE.',
  },
  storeLatency: {
    type: 'histogram',
    name: 'weir_store_latency_seconds',
    labels: ['store'],
    help: 'Latency of one store command.',
  },
  storeErrors: {
    type: 'counter',
    name: 'weir_store_errors_total',
    labels: ['store', 'reason'],
    help: 'Failed store commands: timeout, connection, script, breaker or other; and calls that gave up: overload, timeout, caller_timeout (deadline of the caller), own_lag (Weir itself ran late), connection.',
  },
  breakerOpen: {
    type: 'gauge',
    name: 'weir_breaker_open',
    aggregator: 'max',
    labels: [],
    help: 'Redis servers whose circuit breaker is open.',
  },
  breakerOpenings: {
    type: 'counter',
    name: 'weir_breaker_openings_total',
    labels: [],
    help: 'Times that a Redis circuit breaker opened, failed retries included.',
  },
  denyCacheDenials: {
    type: 'counter',
    name: 'weir_deny_cache_denials_total',
    labels: [],
    help: 'Requests denied by the deny cache, without asking Redis.',
  },
  leaseHits: {
    type: 'gauge',
    name: 'weir_lease_hits',
    labels: [],
    help: 'Hits in leases: charged in Redis, and not used yet.',
  },
  leaseHitsCharged: {
    type: 'counter',
    name: 'weir_lease_hits_charged_total',
    labels: [],
    help: 'Hits charged in Redis ahead of the requests that use them.',
  },
  leaseHitsUsed: {
    type: 'counter',
    name: 'weir_lease_hits_used_total',
    labels: [],
    help: 'Hits admitted from leases, without asking Redis.',
  },
  leaseHitsGivenBack: {
    type: 'counter',
    name: 'weir_lease_hits_given_back_total',
    labels: [],
    help: 'Unused hits of leases that Redis has again.',
  },
  leaseHitsLost: {
    type: 'counter',
    name: 'weir_lease_hits_lost_total',
    labels: [],
    help: 'Hits of leases that nobody used and Redis may still count: their window ended, or a reply or the connection was lost.',
  },
  fallbackDecisions: {
    type: 'counter',
    name: 'weir_fallback_decisions_total',
    labels: [],
    help: 'Requests decided without Redis, by the failure modes of their limits.',
  },
  fallbackHits: {
    type: 'counter',
    name: 'weir_fallback_hits_total',
    labels: ['failure_mode'],
    help: 'Hits admitted without Redis in mode local or open: an upper bound on what passed beyond the limits.',
  },
  chargedBackHits: {
    type: 'counter',
    name: 'weir_charged_back_hits_total',
    labels: [],
    help: 'Hits admitted in mode local and charged to Redis afterwards.',
  },
  chargeBackLostHits: {
    type: 'counter',
    name: 'weir_charge_back_lost_hits_total',
    labels: [],
    help: 'Hits admitted in mode local that Redis may never count.',
  },
  instances: {
    type: 'gauge',
    name: 'weir_instances',
    aggregator: 'max',
    labels: [],
    help: 'Live instances on the same Redis, as last counted.',
  },
  redisEvictedKeys: {
    type: 'counter',
    name: 'weir_redis_evicted_keys_total',
    aggregator: 'max',
    labels: ['store'],
    help: 'Keys that Redis evicted while this instance watched its INFO, those of other programs among them. Absent: Redis does not show its INFO.',
  },
  redisEngine: {
    type: 'gauge',
    name: 'weir_redis_engine_info',
    aggregator: 'max',
    labels: ['store', 'engine', 'version'],
    help: '1 for each engine and version that a Redis server in use showed by INFO when it was connected last: redis, valkey, dragonfly, garnet, keydb, kvrocks or unknown.',
  },
  clusterRedirects: {
    type: 'counter',
    name: 'weir_redis_cluster_redirects_total',
    labels: ['kind'],
    help: 'Redirects by Redis Cluster nodes: moved or ask.',
  },
  hitsLost: {
    type: 'counter',
    name: 'weir_split_hits_lost_total',
    labels: [],
    help: 'Upper bound on hits miscounted by requests with buckets in several slots or Redis servers: charged for a denied or failed request, not refunded, or usage reports not charged.',
  },
  checks: {
    type: 'counter',
    name: 'weir_checks_total',
    labels: ['outcome'],
    help: 'Answers of /check: allowed, denied, bad_request, unavailable or fault.',
  },
  reservations: {
    type: 'counter',
    name: 'weir_reservations_total',
    labels: ['outcome'],
    help: 'Reservation steps: reserved, reduced (by max_share), denied, committed, released, extended, late (settled after the lapse), unknown (settled without a known reservation), lapsed, repeated (not applied again).',
  },
  reservationHits: {
    type: 'counter',
    name: 'weir_reservation_hits_total',
    labels: ['outcome'],
    help: 'Hits of reservation steps, for each descriptor: granted (reserved, reduced, lapsed), requested (denied) or used (committed, late, unknown).',
  },
  reservationsHeld: {
    type: 'gauge',
    name: 'weir_reservations_outstanding',
    labels: [],
    aggregator: 'max',
    help: 'Reservations held in the domains that this instance sweeps.',
  },
  memoryStoreBuckets: {
    type: 'gauge',
    name: 'weir_memory_store_buckets',
    labels: [],
    help: 'Buckets in the memory store.',
  },
  memoryStoreEvictions: {
    type: 'counter',
    name: 'weir_memory_store_evictions_total',
    labels: [],
    help: 'Buckets that the memory store evicted because it was full.',
  },
  memoryStoreUsedUpEvictions: {
    type: 'counter',
    name: 'weir_memory_store_used_up_evictions_total',
    labels: [],
    help: 'Buckets without a hit left that the memory store evicted because it was full; each lets its limit pass once more.',
  },
  startTime: {
    type: 'gauge',
    name: 'weir_start_time_seconds',
    aggregator: 'min',
    labels: [],
    help: 'Start of this instance, in Unix time. With workers: the oldest.',
  },
  heapLimit: {
    type: 'gauge',
    name: 'weir_heap_limit_bytes',
    labels: [],
    help: 'Heap size at which the process ends (--max-old-space-size); nodejs_heap_size_used_bytes is what it uses.',
  },
  buildInfo: {
    type: 'gauge',
    name: 'weir_build_info',
    statsd: 'weir.build_info.{store}',
    aggregator: 'first',
    labels: ['version', 'store'],
    help: 'Always 1.',
  },
} as const satisfies Readonly<Record<string, MetricRow>>;

/** Exported by the process that loads the configuration. */
export const CONFIG_METRICS = {
  configLoadSuccess: {
    type: 'counter',
    name: 'ratelimit_service_config_load_success',
    statsd: 'ratelimit.service.config_load_success',
    labels: [],
    help: 'Configurations loaded.',
  },
  configLoadError: {
    type: 'counter',
    name: 'ratelimit_service_config_load_error',
    statsd: 'ratelimit.service.config_load_error',
    labels: [],
    help: 'Configurations rejected; the last good one stayed in force.',
  },
  configLastLoadGood: {
    type: 'gauge',
    name: 'weir_config_last_load_good',
    labels: [],
    help: '1 if the configuration offered last is in force, 0 if it was rejected.',
  },
} as const satisfies Readonly<Record<string, MetricRow>>;

/** Exported by the same process, if the configuration comes from a management server. */
export const XDS_METRICS = {
  connected: {
    type: 'gauge',
    name: 'weir_xds_connected',
    labels: [],
    help: '1 while connected to the management server, otherwise 0; only with CONFIG_TYPE=GRPC_XDS_SOTW.',
  },
} as const satisfies Readonly<Record<string, MetricRow>>;

/** Exported by the parent process, if there are workers. */
export const WORKER_METRICS = {
  workers: {
    type: 'gauge',
    name: 'weir_workers',
    labels: [],
    help: 'Workers that are serving; only with WORKERS over 1.',
  },
  restarts: {
    type: 'counter',
    name: 'weir_worker_restarts_total',
    labels: [],
    help: 'Workers started to replace one that ended; only with WORKERS over 1.',
  },
} as const satisfies Readonly<Record<string, MetricRow>>;

/** Only with TRACING_ENABLED. */
export const TRACE_METRICS = {
  spans: {
    type: 'counter',
    name: 'weir_trace_spans_total',
    labels: ['result'],
    help: 'Spans of traces: sent, failed (not accepted) or dropped (the queue was full).',
  },
} as const satisfies Readonly<Record<string, MetricRow>>;

/** Only with DECISION_LOG. */
export const DECISION_LOG_METRICS = {
  logLines: {
    type: 'counter',
    name: 'weir_decision_log_lines_total',
    labels: [],
    help: 'Lines of the decision log that were written.',
  },
  logBytes: {
    type: 'counter',
    name: 'weir_decision_log_bytes_total',
    labels: [],
    help: 'Bytes of the decision log that were written.',
  },
  logLost: {
    type: 'counter',
    name: 'weir_decision_log_lost_lines_total',
    labels: ['reason'],
    help: 'Lines of the decision log that were not written: full (they came faster than they were written, or nothing could be written), too_long, or unwritten (cut by a change of the file, or left at the end of the process).',
  },
} as const satisfies Readonly<Record<string, MetricRow>>;

/** Exported by the process that reports to statsd. */
export const REPORT_METRICS = {
  flushes: {
    type: 'counter',
    name: 'weir_statsd_flushes_total',
    labels: ['result'],
    help: 'Flushes to statsd: success, or error (their data is lost); only with statsd.',
  },
} as const satisfies Readonly<Record<string, MetricRow>>;

/** Only with control data. */
export const CONTROL_METRICS = {
  version: {
    type: 'gauge',
    name: 'weir_control_version',
    labels: [],
    aggregator: 'min',
    help: 'Time of the last change of control data in force, in microseconds since 1970, 0 if there was none. With workers: the lowest.',
  },
  lag: {
    type: 'gauge',
    name: 'weir_control_lag_seconds',
    labels: [],
    aggregator: 'max',
    help: 'Time since this instance last knew its control data to be up to date.',
  },
  records: {
    type: 'gauge',
    name: 'weir_control_records',
    labels: ['kind'],
    aggregator: 'max',
    help: 'Records of control data in force: tenant, plan, override, block or pass.',
  },
  lost: {
    type: 'gauge',
    name: 'weir_control_lost_records',
    labels: [],
    aggregator: 'max',
    help: 'Records of control data that Redis lost and this instance keeps in force.',
  },
  missing: {
    type: 'gauge',
    name: 'weir_control_missing_records',
    labels: [],
    aggregator: 'max',
    help: 'Records of control data that Redis lacks, whether an instance keeps them or not.',
  },
  unreadable: {
    type: 'gauge',
    name: 'weir_control_unreadable_records',
    labels: [],
    aggregator: 'max',
    help: 'Records of control data without effect, because this instance cannot read them. At most 1,000 are counted.',
  },
  decisions: {
    type: 'counter',
    name: 'weir_control_decisions_total',
    labels: ['kind'],
    help: 'Descriptors that a record of control data decided: override, block or pass.',
  },
} as const satisfies Readonly<Record<string, MetricRow>>;

/** Only with control data, which blocks by penalty are part of. */
export const PENALTY_METRICS = {
  blocks: {
    type: 'counter',
    name: 'weir_penalty_blocks_total',
    labels: [],
    help: 'Blocks that penalties of rules wrote.',
  },
  dropped: {
    type: 'counter',
    name: 'weir_penalty_dropped_denials_total',
    labels: [],
    help: 'Denials under a penalty that were not counted, because the store failed or too many entries were denied at once.',
  },
} as const satisfies Readonly<Record<string, MetricRow>>;

/** Only with control data, by which guards take rollouts back. */
export const GUARD_METRICS = {
  guardStops: {
    type: 'counter',
    name: 'weir_rollout_guard_stops_total',
    labels: [],
    help: 'Rollouts that their guard took back; the process that did so counts it.',
  },
} as const satisfies Readonly<Record<string, MetricRow>>;

export const FAIR_METRICS = {
  divided: {
    type: 'gauge',
    name: 'weir_fair_divided_limits',
    aggregator: 'max',
    labels: [],
    help: 'Limits with fair whose members asked for more than there is in the window before, so that each has a share now.',
  },
} as const satisfies Readonly<Record<string, MetricRow>>;

/** Only with EVENTS_URL. */
export const EVENT_METRICS = {
  events: {
    type: 'counter',
    name: 'weir_events_total',
    labels: ['outcome'],
    help: 'Steps of events: queued, added, known (added before), delivered, failed (a try), undelivered (given up), queue_full, outbox_full, late or lost (by Redis).',
  },
  eventsWaiting: {
    type: 'gauge',
    name: 'weir_events_outbox',
    labels: [],
    aggregator: 'max',
    help: 'Events that wait, of all instances.',
  },
  eventsOldest: {
    type: 'gauge',
    name: 'weir_events_oldest_seconds',
    labels: [],
    aggregator: 'max',
    help: 'Age of the oldest event that waits.',
  },
} as const satisfies Readonly<Record<string, MetricRow>>;

type Rows = typeof METRICS;

type MadeOf<Row extends MetricRow> = Row['type'] extends 'counter'
  ? Counter<Row['labels'][number]>
  : Row['type'] extends 'gauge'
    ? Gauge<Row['labels'][number]>
    : LatencyHistogram<Row['labels'][number]>;

export type Metrics = { readonly [Row in keyof Rows]: MadeOf<Rows[Row]> };

export interface MetricsOptions {
  readonly registry: Registry;
  readonly version: string;
  /** `redis` or `memory`. */
  readonly store: string;
  /** Read at each reading of the metrics. */
  readonly memoryStore?: { readonly size: number; readonly evictions: number; readonly usedUpEvictions: number } | undefined;
  /** Read at each reading of the metrics. */
  readonly rules?: { readonly ruleSet: { readonly generation: number } | undefined };
  /** Whether to measure the process too: memory, event loop, garbage collection. Default: true. */
  readonly ofProcess?: boolean;
}

/** Outcomes of configuration loads, read at each reading of the metrics. */
export interface LoadCounts {
  readonly counts: { readonly accepted: number; readonly refused: number };
  readonly error: unknown;
}

/** The xDS client, read at each reading of the metrics. */
export interface ManagementServer {
  readonly isConnected: boolean;
}

export interface ConfigMetricsOptions {
  readonly registry: Registry;
  readonly loads: LoadCounts;
  /** Undefined: the configuration does not come from a management server. */
  readonly managementServer: ManagementServer | undefined;
}

/** Registers the configuration metrics; in one process only, even with workers. */
export function makeConfigMetrics({ registry, loads, managementServer }: ConfigMetricsOptions): void {
  counter(
    registry,
    CONFIG_METRICS.configLoadSuccess,
    reading(() => loads.counts.accepted),
  );
  counter(
    registry,
    CONFIG_METRICS.configLoadError,
    reading(() => loads.counts.refused),
  );
  gauge(
    registry,
    CONFIG_METRICS.configLastLoadGood,
    reading(() => (loads.error === undefined ? 1 : 0)),
  );
  if (managementServer !== undefined)
    gauge(
      registry,
      XDS_METRICS.connected,
      reading(() => (managementServer.isConnected ? 1 : 0)),
    );
}

/** The replica of control data, read at each reading of the metrics. */
export interface ControlReading {
  readonly version: number;
  readonly lagSeconds: number;
  readonly lost: number;
  readonly missing: number;
  readonly unreadable: number;
  readonly counts: Readonly<Record<string, number>>;
}

/** Registers the metrics of control data; the returned counter counts descriptors that a record decided. */
export function makeControlMetrics(registry: Registry, control: ControlReading): Counter<'kind'> {
  gauge(
    registry,
    CONTROL_METRICS.version,
    reading(() => control.version),
  );
  gauge(
    registry,
    CONTROL_METRICS.lag,
    reading(() => control.lagSeconds),
  );
  gauge(
    registry,
    CONTROL_METRICS.lost,
    reading(() => control.lost),
  );
  gauge(
    registry,
    CONTROL_METRICS.missing,
    reading(() => control.missing),
  );
  gauge(
    registry,
    CONTROL_METRICS.unreadable,
    reading(() => control.unreadable),
  );
  gauge(registry, CONTROL_METRICS.records, (made) => {
    for (const [kind, count] of Object.entries(control.counts)) made.set({ kind }, count);
  });
  return counter(registry, CONTROL_METRICS.decisions);
}

export function makeTraceMetrics(registry: Registry): Counter<'result'> {
  const spans = counter(registry, TRACE_METRICS.spans);
  for (const result of ['sent', 'failed', 'dropped']) spans.inc({ result }, 0);
  return spans;
}

/** The lines of the decision log, read at each reading of the metrics. */
export interface DecisionLogReading {
  readonly lines: number;
  readonly bytes: number;
  readonly lost: Readonly<Record<string, number>>;
}

export function makeDecisionLogMetrics(registry: Registry, read: () => DecisionLogReading): void {
  counter(
    registry,
    DECISION_LOG_METRICS.logLines,
    reading(() => read().lines),
  );
  counter(
    registry,
    DECISION_LOG_METRICS.logBytes,
    reading(() => read().bytes),
  );
  counter(registry, DECISION_LOG_METRICS.logLost, (made) => {
    made.reset();
    for (const [reason, lines] of Object.entries(read().lost)) made.inc({ reason }, lines);
  });
}

export function makePenaltyMetrics(registry: Registry): { readonly blocks: Counter; readonly dropped: Counter } {
  return { blocks: counter(registry, PENALTY_METRICS.blocks), dropped: counter(registry, PENALTY_METRICS.dropped) };
}

export function makeRolloutMetrics(registry: Registry): { readonly guardStops: Counter } {
  return { guardStops: counter(registry, GUARD_METRICS.guardStops) };
}

export function makeFairMetrics(registry: Registry, read: () => number): void {
  gauge(registry, FAIR_METRICS.divided, reading(read));
}

/** The outboxes of this process, read at each reading of the metrics. */
export interface EventsReading {
  readonly events: number;
  readonly oldestMs: number;
}

/** The returned counter counts steps of events. */
export function makeEventMetrics(registry: Registry, read: () => EventsReading): Counter<'outcome'> {
  gauge(
    registry,
    EVENT_METRICS.eventsWaiting,
    reading(() => read().events),
  );
  gauge(
    registry,
    EVENT_METRICS.eventsOldest,
    reading(() => read().oldestMs / 1_000),
  );
  const events = counter(registry, EVENT_METRICS.events);
  for (const outcome of ['delivered', 'failed', 'undelivered', 'queue_full', 'outbox_full', 'late', 'lost']) events.inc({ outcome }, 0);
  return events;
}

/** Registers every metric of the table and Node's own. Call it once per registry. */
export function makeMetrics({ registry, version, store, memoryStore, rules, ofProcess = true }: MetricsOptions): Metrics {
  if (ofProcess) collectDefaultMetrics({ register: registry });
  /** Values that are counted elsewhere, and read at each reading of the metrics. */
  const collects: Readonly<Record<string, Collect>> = {
    totalRequests: (made) => {
      made.reset();
      for (const { labels, count } of metrics.responseTime.counts()) made.inc(labels, count);
    },
    configGeneration: reading(() => rules?.ruleSet?.generation ?? 0),
    memoryStoreBuckets: reading(() => memoryStore?.size ?? 0),
    memoryStoreEvictions: reading(() => memoryStore?.evictions ?? 0),
    memoryStoreUsedUpEvictions: reading(() => memoryStore?.usedUpEvictions ?? 0),
    heapLimit: reading(() => (ofProcess ? getHeapStatistics().heap_size_limit : 0)),
  };
  const made = Object.entries<MetricRow>(METRICS).map(([name, row]) => [name, make(registry, row, collects[name])] as const);
  // Each row makes what its type says: `MadeOf`.
  const metrics = Object.fromEntries(made) as unknown as Metrics;
  metrics.decisionTime.share({ via: 'grpc' }, metrics.responseTime.with({ grpc_method: 'ShouldRateLimit' }));
  metrics.buildInfo.set({ version, store }, 1);
  metrics.startTime.set(Math.round(STARTED_AT_MS) / 1_000);
  return metrics;
}

type Collect = (made: Counter | Gauge) => void;

/** The value at each reading. */
function reading(read: () => number): Collect {
  return (made) => {
    made.reset();
    made.inc(read());
  };
}

function make(registry: Registry, row: MetricRow, collect: Collect | undefined): Counter | Gauge | LatencyHistogram<string> {
  if (row.type === 'counter') return counter(registry, row, collect);
  return row.type === 'gauge' ? gauge(registry, row, collect) : new LatencyHistogram(registry, row);
}

interface RowOf<Label extends string> extends MetricRow {
  readonly labels: readonly Label[];
}

/** Creates the counter of a row. `collect` sets its values at each reading. */
function counter<Label extends string>(
  registry: Registry,
  { name, help, labels, aggregator = 'sum' }: RowOf<Label>,
  collect?: (made: Counter<Label>) => void,
): Counter<Label> {
  // prom-client passes the aggregator of any metric on; its type has it for gauges alone.
  const aggregated: object = { aggregator };
  return new Counter({ name, help, labelNames: [...labels], registers: [registry], ...aggregated, ...collecting(collect) });
}

function gauge<Label extends string>(
  registry: Registry,
  { name, help, labels, aggregator = 'sum' }: RowOf<Label>,
  collect?: (made: Gauge<Label>) => void,
): Gauge<Label> {
  return new Gauge({ name, help, aggregator, labelNames: [...labels], registers: [registry], ...collecting(collect) });
}

/** Adapts `collect`: prom-client passes the metric as `this`. */
function collecting<Made>(collect: ((made: Made) => void) | undefined) {
  return (
    collect && {
      collect(this: Made) {
        collect(this);
      },
    }
  );
}
