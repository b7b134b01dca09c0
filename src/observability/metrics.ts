/** The table of all metrics but those of rules, and the only place that makes them. */

import { collectDefaultMetrics, Counter, Gauge, type Registry } from 'prom-client';
import { LatencyHistogram } from './latency-histogram';

/** A metric as the documentation shows it. */
export interface MetricRow {
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly name: string;
  readonly labels: readonly string[];
  readonly help: string;
  /** Its name in statsd, with `{label}` where the value of a label stands; absent: it follows from the name. */
  readonly statsd?: string;
  /** How the values of several workers become one; default: their sum. */
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
    help: 'Requests without a decision: redis_error if nothing could decide (Redis, or there was no configuration yet), service_error for every other reason.',
  },
  grpcConnections: {
    type: 'gauge',
    name: 'weir_grpc_connections',
    labels: [],
    help: 'Connections to the gRPC port that are open.',
  },
  grpcConnectionsEnded: {
    type: 'counter',
    name: 'weir_grpc_connections_ended_total',
    labels: ['reason'],
    help:
      'Connections to the gRPC port that Weir has ended or not let in: protocol_error, flood, handshake_timeout, stalled, max_age, keepalive, tls, too_many or fault (its own). With TRANSPORT=grpc-js only handshake_timeout (of TLS), tls and too_many are seen.',
  },
  grpcStreamsRefused: {
    type: 'counter',
    name: 'weir_grpc_streams_refused_total',
    labels: [],
    help: 'Calls refused because GRPC_MAX_CONCURRENT_STREAMS were open on their connection. Not seen with TRANSPORT=grpc-js.',
  },
  grpcCertificateReloads: {
    type: 'counter',
    name: 'weir_grpc_certificate_reloads_total',
    labels: ['result'],
    help: 'Changed certificates of the gRPC port: success if they are in use now, error if the last good ones are.',
  },
  grpcCertificateExpiry: {
    type: 'gauge',
    name: 'weir_grpc_certificate_expiry_timestamp_seconds',
    aggregator: 'min',
    labels: [],
    help: 'When the certificate in use on the gRPC port runs out, in Unix time; 0 without TLS.',
  },
  configGeneration: {
    type: 'gauge',
    name: 'weir_config_generation',
    aggregator: 'min',
    labels: [],
    help: 'Number of the configuration in force: 1 for the first, one more for each that followed; 0 while there is none. Of several workers, the one that is furthest behind.',
  },
  globalShadowMode: {
    type: 'counter',
    name: 'ratelimit_service_global_shadow_mode',
    statsd: 'ratelimit.service.global_shadow_mode',
    labels: [],
    help: 'Requests that SHADOW_MODE let pass.',
  },
  storeLatency: {
    type: 'histogram',
    name: 'weir_store_latency_seconds',
    labels: ['store'],
    help: 'Time of one command to the store, which decides many requests when many come at once.',
  },
  storeErrors: {
    type: 'counter',
    name: 'weir_store_errors_total',
    labels: ['store', 'reason'],
    help: 'Commands to the store that failed: timeout, connection, script, breaker or other; and calls given up before or meanwhile: overload, timeout (waited for a store that does not answer), caller_timeout (the caller had no more time), connection.',
  },
  breakerOpen: {
    type: 'gauge',
    name: 'weir_breaker_open',
    aggregator: 'max',
    labels: [],
    help: 'Redis servers that are not asked just now because they kept failing.',
  },
  breakerOpenings: {
    type: 'counter',
    name: 'weir_breaker_openings_total',
    labels: [],
    help: 'How often Redis has failed too often in a row, or again when it was asked after a while.',
  },
  denyCacheDenials: {
    type: 'counter',
    name: 'weir_deny_cache_denials_total',
    labels: [],
    help: 'Requests denied by the deny cache, without asking Redis.',
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
    help: 'Hits let pass without Redis, in mode local or open: no more can have passed beyond the limits.',
  },
  chargedBackHits: {
    type: 'counter',
    name: 'weir_charged_back_hits_total',
    labels: [],
    help: 'Hits let pass in mode local that Redis was charged for afterwards.',
  },
  chargeBackLostHits: {
    type: 'counter',
    name: 'weir_charge_back_lost_hits_total',
    labels: [],
    help: 'Hits let pass in mode local that Redis may never count: its answer to the charge was lost, they were of more buckets than are kept in mind, or it can not count them in their buckets.',
  },
  instances: {
    type: 'gauge',
    name: 'weir_instances',
    aggregator: 'max',
    labels: [],
    help: 'Live instances on the same Redis, as last counted: each has its share of a limit while Redis is away.',
  },
  clusterRedirects: {
    type: 'counter',
    name: 'weir_redis_cluster_redirects_total',
    labels: ['kind'],
    help: 'Calls that a node of the Redis Cluster sent to another: moved for good, or ask while a slot is being moved.',
  },
  hitsLost: {
    type: 'counter',
    name: 'weir_split_hits_lost_total',
    labels: [],
    help: 'Hits, at most, that stayed charged though their request was denied or failed, or was to refund them, and hits of usage reports that were not charged: of requests whose buckets are in several slots or Redis servers.',
  },
  reservations: {
    type: 'counter',
    name: 'weir_reservations_total',
    labels: ['outcome'],
    help:
      'Steps of reservations: reserved, reduced (fewer hits than asked, by max_share), denied, committed, released, extended, late (settled after they had lapsed), unknown (settled without a known reservation), lapsed, repeated (made before, and not once more).',
  },
  reservationHits: {
    type: 'counter',
    name: 'weir_reservation_hits_total',
    labels: ['outcome'],
    help: 'Hits of those steps, for each descriptor: granted ones of reserved, reduced and lapsed, asked ones of denied, used ones of committed, late and unknown.',
  },
  reservationsHeld: {
    type: 'gauge',
    name: 'weir_reservations_outstanding',
    labels: [],
    aggregator: 'max',
    help: 'Reservations that are held, of the domains that this instance sweeps, as of its last sweep (one a second).',
  },
  memoryStoreBuckets: {
    type: 'gauge',
    name: 'weir_memory_store_buckets',
    labels: [],
    help: 'Buckets that the memory store holds.',
  },
  memoryStoreEvictions: {
    type: 'counter',
    name: 'weir_memory_store_evictions_total',
    labels: [],
    help: 'Buckets that the memory store dropped to stay within its bound.',
  },
  buildInfo: {
    type: 'gauge',
    name: 'weir_build_info',
    statsd: 'weir.build_info.{store}',
    aggregator: 'first',
    labels: ['version', 'store'],
    help: '1, with the version of Weir and the store that counts.',
  },
} as const satisfies Readonly<Record<string, MetricRow>>;

/** Of the process that looks for the configuration. */
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
    help: 'Configurations refused; the last good one stayed.',
  },
  configLastLoadGood: {
    type: 'gauge',
    name: 'weir_config_last_load_good',
    labels: [],
    help: '1 if the configuration that was loaded last is in force, 0 if it was refused.',
  },
} as const satisfies Readonly<Record<string, MetricRow>>;

/** Of that process too: only if the configuration comes from a management server. */
export const XDS_METRICS = {
  connected: {
    type: 'gauge',
    name: 'weir_xds_connected',
    labels: [],
    help: '1 while there is a connection to the management server, 0 while there is none; with CONFIG_TYPE=GRPC_XDS_SOTW only.',
  },
} as const satisfies Readonly<Record<string, MetricRow>>;

/** Of the process that runs the workers: only if there are several. */
export const WORKER_METRICS = {
  workers: {
    type: 'gauge',
    name: 'weir_workers',
    labels: [],
    help: 'Workers that serve just now; with WORKERS over 1 only.',
  },
  restarts: {
    type: 'counter',
    name: 'weir_worker_restarts_total',
    labels: [],
    help: 'Workers begun in place of one that ended; with WORKERS over 1 only.',
  },
} as const satisfies Readonly<Record<string, MetricRow>>;

/** Of the process that tells statsd: only if one does. */
export const REPORT_METRICS = {
  flushes: {
    type: 'counter',
    name: 'weir_statsd_flushes_total',
    labels: ['result'],
    help: 'Flushes to statsd: success, or error, and then what they would have told is lost; with statsd only.',
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
  /** Looked at whenever the metrics are read. */
  readonly memoryStore?: { readonly size: number; readonly evictions: number } | undefined;
  /** Likewise. */
  readonly rules?: { readonly ruleSet: { readonly generation: number } | undefined };
}

/** What became of the configurations that were loaded, looked at whenever the metrics are read. */
export interface LoadCounts {
  readonly counts: { readonly accepted: number; readonly refused: number };
  readonly error: unknown;
}

/** Where the configuration comes from over xDS, likewise. */
export interface ManagementServer {
  readonly isConnected: boolean;
}

export interface ConfigMetricsOptions {
  readonly registry: Registry;
  readonly loads: LoadCounts;
  /** Undefined: the configuration comes from elsewhere. */
  readonly managementServer: ManagementServer | undefined;
}

/** Registers the metrics of the configuration; in one process only, however many serve. */
export function makeConfigMetrics({ registry, loads, managementServer }: ConfigMetricsOptions): void {
  counter(registry, CONFIG_METRICS.configLoadSuccess, (made) => {
    made.reset();
    made.inc(loads.counts.accepted);
  });
  counter(registry, CONFIG_METRICS.configLoadError, (made) => {
    made.reset();
    made.inc(loads.counts.refused);
  });
  gauge(registry, CONFIG_METRICS.configLastLoadGood, (made) => {
    made.set(loads.error === undefined ? 1 : 0);
  });
  if (managementServer === undefined) return;
  gauge(registry, XDS_METRICS.connected, (made) => {
    made.set(managementServer.isConnected ? 1 : 0);
  });
}

/** Registers every metric of the table and Node's own; once for each registry. */
export function makeMetrics({ registry, version, store, memoryStore, rules }: MetricsOptions): Metrics {
  collectDefaultMetrics({ register: registry });
  const responseTime = new LatencyHistogram<'grpc_method'>(registry, METRICS.responseTime);
  const metrics: Metrics = {
    responseTime,
    totalRequests: counter(registry, METRICS.totalRequests, (made) => {
      made.reset();
      for (const { labels, count } of responseTime.counts()) made.inc(labels, count);
    }),
    shouldRateLimitError: counter(registry, METRICS.shouldRateLimitError),
    grpcConnections: gauge(registry, METRICS.grpcConnections),
    grpcConnectionsEnded: counter(registry, METRICS.grpcConnectionsEnded),
    grpcStreamsRefused: counter(registry, METRICS.grpcStreamsRefused),
    grpcCertificateReloads: counter(registry, METRICS.grpcCertificateReloads),
    grpcCertificateExpiry: gauge(registry, METRICS.grpcCertificateExpiry),
    configGeneration: gauge(registry, METRICS.configGeneration, (made) => {
      made.set(rules?.ruleSet?.generation ?? 0);
    }),
    globalShadowMode: counter(registry, METRICS.globalShadowMode),
    storeLatency: new LatencyHistogram(registry, METRICS.storeLatency),
    storeErrors: counter(registry, METRICS.storeErrors),
    breakerOpen: gauge(registry, METRICS.breakerOpen),
    breakerOpenings: counter(registry, METRICS.breakerOpenings),
    denyCacheDenials: counter(registry, METRICS.denyCacheDenials),
    fallbackDecisions: counter(registry, METRICS.fallbackDecisions),
    fallbackHits: counter(registry, METRICS.fallbackHits),
    chargedBackHits: counter(registry, METRICS.chargedBackHits),
    chargeBackLostHits: counter(registry, METRICS.chargeBackLostHits),
    instances: gauge(registry, METRICS.instances),
    clusterRedirects: counter(registry, METRICS.clusterRedirects),
    reservations: counter(registry, METRICS.reservations),
    reservationHits: counter(registry, METRICS.reservationHits),
    reservationsHeld: gauge(registry, METRICS.reservationsHeld),
    hitsLost: counter(registry, METRICS.hitsLost),
    memoryStoreBuckets: gauge(registry, METRICS.memoryStoreBuckets, (made) => {
      made.set(memoryStore?.size ?? 0);
    }),
    memoryStoreEvictions: counter(registry, METRICS.memoryStoreEvictions, (made) => {
      made.reset();
      made.inc(memoryStore?.evictions ?? 0);
    }),
    buildInfo: gauge(registry, METRICS.buildInfo),
  };
  metrics.buildInfo.set({ version, store }, 1);
  return metrics;
}

interface RowOf<Label extends string> extends MetricRow {
  readonly labels: readonly Label[];
}

/** A counter of this row. `collect` fills it whenever it is read. */
function counter<Label extends string>(
  registry: Registry,
  { name, help, labels }: RowOf<Label>,
  collect?: (made: Counter<Label>) => void,
): Counter<Label> {
  return new Counter({ name, help, labelNames: [...labels], registers: [registry], ...collecting(collect) });
}

function gauge<Label extends string>(
  registry: Registry,
  { name, help, labels, aggregator = 'sum' }: RowOf<Label>,
  collect?: (made: Gauge<Label>) => void,
): Gauge<Label> {
  return new Gauge({ name, help, aggregator, labelNames: [...labels], registers: [registry], ...collecting(collect) });
}

/** prom-client hands the metric to `collect` as `this`. */
function collecting<Made>(collect: ((made: Made) => void) | undefined) {
  return (
    collect && {
      collect(this: Made) {
        collect(this);
      },
    }
  );
}
