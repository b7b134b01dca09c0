/**
 * The reference's variables that Weir does not use: those that prevent the start, because Weir would otherwise do
 * something other than asked, and those that are only logged.
 */

export interface ReferenceSetting {
  /** A `*` at the end stands for any ending. */
  readonly name: string;
  /** Values, in lower case, that ask for what Weir does anyway: nothing is logged. */
  readonly fine: readonly string[];
  /** Whether any other value prevents the start. */
  readonly refused: boolean;
  /** A sentence: what Weir does instead, and what to do. */
  readonly instead: string;
}

const OFF = ['false', '0', 'f'];
const ON = ['true', '1', 't'];
const ZERO = ['0', '0s'];
const ALL_SLOTS_AT_ONCE = 'Weir sends the commands of all slots at once.';
const NO_MEMCACHED = 'Weir does not support memcached, because its counts are not exact; use redis or memory.';
const ONLY_TRACES = 'Weir sends only traces over OTLP; metrics are on DEBUG_PORT, and the log is on standard error.';
const NO_POOL = 'One connection carries all calls.';
const FINDS_REDIS = 'Weir starts without Redis, logs that, and connects as soon as it can.';

function refused(name: string, fine: readonly string[], instead: string): ReferenceSetting {
  return { name, fine, refused: true, instead };
}

function ignored(name: string, fine: readonly string[], instead: string): ReferenceSetting {
  return { name, fine, refused: false, instead };
}

/** Several settings with one reason, each without a fine value. */
function ignoredAll(names: readonly string[], instead: string): ReferenceSetting[] {
  return names.map((name) => ignored(name, [], instead));
}

export const REFERENCE_SETTINGS: readonly ReferenceSetting[] = [
  refused('MEMCACHE_HOST_PORT', [], NO_MEMCACHED),
  refused('MEMCACHE_SRV', [], NO_MEMCACHED),

  // Envoy Gateway sets it; envoyproxy/ratelimit does not read it either.
  ignored('GRPC_SERVER_TLS_CA_CERT', [], 'Set GRPC_CLIENT_TLS_CACERT to verify client certificates.'),
  ignored('PROTO', ['tcp'], 'Every port is on TCP; GRPC_UDS puts the gRPC port on a unix socket.'),

  ...['REDIS', 'REDIS_PERSECOND'].flatMap((redis) => [
    ...ignoredAll([`${redis}_POOL_SIZE`, `${redis}_POOL_ON_EMPTY_BEHAVIOR`], NO_POOL),
    ignored(`${redis}_CLUSTER_PIPELINE_PARALLELISM`, ['0', '1'], ALL_SLOTS_AT_ONCE),
    ignored(`${redis}_TIMEOUT`, [], 'A store call is bounded by REDIS_OP_TIMEOUT, a connection by REDIS_CONNECT_TIMEOUT.'),
  ]),
  ignored('REDIS_HEALTH_CHECK_ACTIVE_CONNECTION', OFF, 'The health body shows a lost Redis as `degraded: redis`.'),
  ...ignoredAll(['REDIS_STARTUP_INITIAL_INTERVAL', 'REDIS_STARTUP_MAX_INTERVAL'], FINDS_REDIS),
  ignored('REDIS_STARTUP_MAX_ELAPSED_TIME', ZERO, FINDS_REDIS),
  ignored('REDIS_CLOSE_CONNECTION_ON_READONLY_ERROR', ON, 'Weir replaces a connection to a Redis that became read-only.'),
  ...ignoredAll(['MEMCACHE_MAX_IDLE_CONNS', 'MEMCACHE_SRV_REFRESH'], NO_MEMCACHED),
  ignored('MEMCACHE_TLS', OFF, NO_MEMCACHED),
  ...ignoredAll(['MEMCACHE_TLS_CLIENT_CERT', 'MEMCACHE_TLS_CLIENT_KEY', 'MEMCACHE_TLS_CACERT'], NO_MEMCACHED),
  ignored('MEMCACHE_TLS_SKIP_HOSTNAME_VERIFICATION', OFF, NO_MEMCACHED),

  ignored('EXPIRATION_JITTER_MAX_SECONDS', [], 'Buckets expire when they are full again.'),
  ignored('LOCAL_CACHE_SIZE_IN_BYTES', ['0'], 'DENY_CACHE_MAX sets the size of the deny cache.'),
  ignored('STOP_CACHE_KEY_INCREMENT_WHEN_OVERLIMIT', ON, 'A denied request never charges a limit.'),
  ignored('LIMIT_ALL_DESCRIPTORS_HEADERS_ENABLED', OFF, 'RESPONSE_HEADERS=ietf lists the limits of all descriptors.'),

  ignored('DOG_STATSD_MOGRIFIER_*', [], 'It needs USE_DOG_STATSD=true and its name in USE_DOG_STATSD_MOGRIFIERS.'),
  ignored(
    'PROMETHEUS_MAPPER_YAML',
    [],
    'Metrics have the names and labels of docs/metrics.md; metric_relabel_configs of Prometheus changes them.',
  ),
  ignored('PROMETHEUS_RESPONSE_TIME_AS_MILLISECONDS', OFF, 'Times are in seconds for Prometheus and in milliseconds for statsd.'),
  ignored('GOSTATS_LOGGING_SINK_DISABLED', ON, 'Statistics are never written to the log.'),
  ignored('DESCRIPTOR_KEY_CONFIG', [], 'An override without a rule is counted under its keys alone.'),
  ...ignoredAll(
    ['OTEL_EXPORTER_OTLP_PROTOCOL', 'OTEL_EXPORTER_OTLP_TRACES_PROTOCOL', 'OTEL_TRACES_EXPORTER'],
    'TRACING_ENABLED turns traces on, and TRACING_EXPORTER_PROTOCOL selects the protocol.',
  ),
  ...ignoredAll(['OTEL_EXPORTER_OTLP_METRICS_*', 'OTEL_EXPORTER_OTLP_LOGS_*', 'OTEL_METRICS_EXPORTER', 'OTEL_LOGS_EXPORTER'], ONLY_TRACES),
  ignored('OTEL_SERVICE_NAME', [], 'Set TRACING_SERVICE_NAME.'),
  ...ignoredAll(['OTEL_TRACES_SAMPLER', 'OTEL_TRACES_SAMPLER_ARG'], 'Set TRACING_SAMPLING_RATE; the decision of the caller comes first.'),
  ignored('OTEL_PROPAGATORS', [], 'Weir reads W3C Trace Context and B3.'),

  ignored('RUNTIME_IGNOREDOTFILES', ON, 'Files whose names start with a dot are never read.'),
];
