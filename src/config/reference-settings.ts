/**
 * The reference's variables that this version has no use for: which of them stop the start, because without them Weir
 * would do something else than asked, and which are only told.
 */

export interface ReferenceSetting {
  /** A `*` at its end stands for any ending. */
  readonly name: string;
  /** Values at which Weir does just what is asked, in lower case: nothing is said. */
  readonly fine: readonly string[];
  /** Whether the start is refused at any other value. */
  readonly refused: boolean;
  /** What Weir does instead, and what to do; a sentence. */
  readonly instead: string;
}

const OFF = ['false', '0', 'f'];
const ON = ['true', '1', 't'];
const ZERO = ['0', '0s'];
const ALL_SLOTS_AT_ONCE = 'All slots of a request are asked at once.';
const NO_MEMCACHED = 'Weir does not support memcached, because its counts are not exact; use redis or memory.';
const NO_STATSD = 'Metrics are served for Prometheus at /metrics on DEBUG_PORT.';
const NO_TRACING = 'Traces are not supported by this version.';
const NO_POOL = 'One connection carries all calls.';
const NO_HEADERS = 'Envoy writes headers from the statuses: enable_x_ratelimit_headers.';
const FINDS_REDIS = 'Weir starts without Redis, says so, and connects as soon as it can.';

function refused(name: string, fine: readonly string[], instead: string): ReferenceSetting {
  return { name, fine, refused: true, instead };
}

function ignored(name: string, fine: readonly string[], instead: string): ReferenceSetting {
  return { name, fine, refused: false, instead };
}

/** Several for one reason, none of them with a fine value. */
function ignoredAll(names: readonly string[], instead: string): ReferenceSetting[] {
  return names.map((name) => ignored(name, [], instead));
}

export const REFERENCE_SETTINGS: readonly ReferenceSetting[] = [
  refused('REDIS_AWS_IAM_AUTH', OFF, 'Credentials of AWS IAM are not supported by this version; use REDIS_AUTH or REDIS_AUTH_FILE.'),
  refused('MEMCACHE_HOST_PORT', [], NO_MEMCACHED),
  refused('MEMCACHE_SRV', [], NO_MEMCACHED),

  // Envoy Gateway sets it; envoyproxy/ratelimit does not read it either.
  ignored('GRPC_SERVER_TLS_CA_CERT', [], "Clients' certificates are verified by GRPC_CLIENT_TLS_CACERT alone."),
  ignored('PROTO', ['tcp'], 'Every port is on TCP; GRPC_UDS puts the gRPC port on a unix socket.'),

  ...['REDIS', 'REDIS_PERSECOND'].flatMap((redis) => [
    ...ignoredAll([`${redis}_POOL_SIZE`, `${redis}_POOL_ON_EMPTY_BEHAVIOR`], NO_POOL),
    ignored(`${redis}_PIPELINE_WINDOW`, ZERO, NO_POOL),
    ignored(`${redis}_PIPELINE_LIMIT`, ZERO, NO_POOL),
    ignored(`${redis}_CLUSTER_PIPELINE_PARALLELISM`, ['0', '1'], ALL_SLOTS_AT_ONCE),
    ignored(`${redis}_TIMEOUT`, [], 'A store call is bounded by REDIS_OP_TIMEOUT, a connection by REDIS_CONNECT_TIMEOUT.'),
  ]),
  ignored('REDIS_HEALTH_CHECK_ACTIVE_CONNECTION', OFF, 'A lost Redis is told in the health body as `degraded: redis`.'),
  ...ignoredAll(['REDIS_STARTUP_INITIAL_INTERVAL', 'REDIS_STARTUP_MAX_INTERVAL'], FINDS_REDIS),
  ignored('REDIS_STARTUP_MAX_ELAPSED_TIME', ZERO, FINDS_REDIS),
  ignored('REDIS_CLOSE_CONNECTION_ON_READONLY_ERROR', ON, 'A connection to a Redis that became read-only is given up for a new one.'),
  ...ignoredAll(['MEMCACHE_MAX_IDLE_CONNS', 'MEMCACHE_SRV_REFRESH'], NO_MEMCACHED),
  ignored('MEMCACHE_TLS', OFF, NO_MEMCACHED),
  ...ignoredAll(['MEMCACHE_TLS_CLIENT_CERT', 'MEMCACHE_TLS_CLIENT_KEY', 'MEMCACHE_TLS_CACERT'], NO_MEMCACHED),
  ignored('MEMCACHE_TLS_SKIP_HOSTNAME_VERIFICATION', OFF, NO_MEMCACHED),

  ignored('EXPIRATION_JITTER_MAX_SECONDS', [], 'Buckets expire when they are full again.'),
  ignored('LOCAL_CACHE_SIZE_IN_BYTES', ['0'], 'Denials are remembered all the same: DENY_CACHE_MAX.'),
  ignored('STOP_CACHE_KEY_INCREMENT_WHEN_OVERLIMIT', ON, 'A denied request never takes anything.'),
  ignored('LIMIT_RESPONSE_HEADERS_ENABLED', OFF, NO_HEADERS),
  ignored('LIMIT_ALL_DESCRIPTORS_HEADERS_ENABLED', OFF, NO_HEADERS),
  ...ignoredAll(['LIMIT_LIMIT_HEADER', 'LIMIT_REMAINING_HEADER', 'LIMIT_RESET_HEADER'], NO_HEADERS),
  ignored('RESPONSE_DYNAMIC_METADATA', OFF, 'Dynamic metadata is not supported by this version.'),

  ignored('USE_STATSD', OFF, NO_STATSD),
  ignored('USE_DOG_STATSD', OFF, NO_STATSD),
  ...ignoredAll(['USE_DOG_STATSD_MOGRIFIERS', 'DOG_STATSD_MOGRIFIER_*'], NO_STATSD),
  ...ignoredAll(['USE_PROMETHEUS', 'PROMETHEUS_ADDR'], NO_STATSD),
  ignored('PROMETHEUS_PATH', ['/metrics'], NO_STATSD),
  ignored('PROMETHEUS_MAPPER_YAML', [], NO_STATSD),
  ignored('PROMETHEUS_RESPONSE_TIME_AS_MILLISECONDS', OFF, 'Times in metrics are in seconds.'),
  ...ignoredAll(['STATSD_HOST', 'STATSD_PORT', 'STATSD_PROTOCOL', 'STATS_FLUSH_INTERVAL', 'EXTRA_TAGS'], NO_STATSD),
  ignored('GOSTATS_LOGGING_SINK_DISABLED', ON, NO_STATSD),
  ignored('DISABLE_STATS', OFF, NO_STATSD),
  ignored('SANITIZE_DESCRIPTOR_METRIC_DOTS', OFF, 'Labels of metrics have the dots of the configuration.'),
  ignored('DESCRIPTOR_KEY_CONFIG', [], 'An override without a rule is counted under its keys alone.'),
  ignored('TRACING_ENABLED', OFF, NO_TRACING),
  ...ignoredAll(['TRACING_SERVICE_NAME', 'TRACING_SERVICE_NAMESPACE', 'TRACING_SERVICE_INSTANCE_ID'], NO_TRACING),
  ...ignoredAll(['TRACING_EXPORTER_PROTOCOL', 'TRACING_SAMPLING_RATE', 'OTEL_EXPORTER_OTLP_*'], NO_TRACING),

  ignored('RUNTIME_IGNOREDOTFILES', ON, 'Files whose names start with a dot are never read.'),
];
