/**
 * The reference's variables that this version has no use for: which of them stop the start, because without them Weir
 * would do something else than asked, and which are only told.
 */

import type { Environment } from './settings';
import { SettingsError } from './settings-error';

export interface ReferenceSetting {
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
const NO_TLS = 'TLS on the gRPC port is not supported by this version; leave it to a sidecar.';
const NO_SHAPES = 'Sentinel and Cluster are not supported by this version; use SINGLE.';
const NO_STATSD = 'Metrics are served for Prometheus at /metrics on DEBUG_PORT.';
const NO_XDS = 'Configuration over xDS is not supported by this version.';
const NO_TRACING = 'Traces are not supported by this version.';
const NO_POOL = 'One connection carries all calls.';

function refused(name: string, fine: readonly string[], instead: string): ReferenceSetting {
  return { name, fine, refused: true, instead };
}

function ignored(name: string, fine: readonly string[], instead: string): ReferenceSetting {
  return { name, fine, refused: false, instead };
}

export const REFERENCE_SETTINGS: readonly ReferenceSetting[] = [
  refused('GRPC_UDS', [], 'The gRPC port on a unix socket is not supported by this version; use GRPC_HOST and GRPC_PORT.'),
  refused('GRPC_SERVER_USE_TLS', OFF, NO_TLS),
  refused('GRPC_CLIENT_TLS_CACERT', [], NO_TLS),
  refused('REDIS_TYPE', ['single'], NO_SHAPES),
  refused('REDIS_TLS', OFF, 'Use a rediss:// URL in REDIS_URL.'),
  refused('REDIS_TLS_CLIENT_CERT', [], 'Client certificates towards Redis are not supported by this version.'),
  refused('REDIS_TLS_CACERT', [], 'Set NODE_EXTRA_CA_CERTS to the file instead.'),
  refused('MERGE_DOMAIN_CONFIG', OFF, 'Write each domain into one file.'),
  ignored('REDIS_PERSECOND', OFF, 'Limits per second are counted in the Redis of all others.'),
  ignored('REDIS_PERSECOND_URL', [], 'Limits per second are counted in the Redis of all others.'),
  ignored('REDIS_POOL_SIZE', [], NO_POOL),
  ignored('REDIS_POOL_ON_EMPTY_BEHAVIOR', [], NO_POOL),
  ignored('REDIS_PIPELINE_WINDOW', ['0', '0s'], NO_POOL),
  ignored('REDIS_PIPELINE_LIMIT', ['0'], NO_POOL),
  ignored('REDIS_TIMEOUT', [], 'A store call is bounded by REDIS_OP_TIMEOUT, a connection by REDIS_CONNECT_TIMEOUT.'),
  ignored('REDIS_HEALTH_CHECK_ACTIVE_CONNECTION', OFF, 'A lost Redis is told in the health body as `degraded: redis`.'),
  ignored('EXPIRATION_JITTER_MAX_SECONDS', [], 'Buckets expire when they are full again.'),
  ignored('LOCAL_CACHE_SIZE_IN_BYTES', ['0'], 'Every request is decided in the store.'),
  ignored('STOP_CACHE_KEY_INCREMENT_WHEN_OVERLIMIT', ON, 'A denied request never takes anything.'),
  ignored('LIMIT_RESPONSE_HEADERS_ENABLED', OFF, 'Envoy writes headers from the statuses: enable_x_ratelimit_headers.'),
  ignored('RESPONSE_DYNAMIC_METADATA', OFF, 'Dynamic metadata is not supported by this version.'),
  ignored('USE_STATSD', OFF, NO_STATSD),
  ignored('USE_DOG_STATSD', OFF, NO_STATSD),
  ignored('USE_PROMETHEUS', [], NO_STATSD),
  ignored('PROMETHEUS_ADDR', [], NO_STATSD),
  ignored('PROMETHEUS_PATH', ['/metrics'], NO_STATSD),
  ignored('PROMETHEUS_MAPPER_YAML', [], NO_STATSD),
  ignored('STATSD_HOST', [], NO_STATSD),
  ignored('STATSD_PORT', [], NO_STATSD),
  ignored('EXTRA_TAGS', [], NO_STATSD),
  ignored('DISABLE_STATS', OFF, NO_STATSD),
  ignored('TRACING_ENABLED', OFF, NO_TRACING),
  ignored('RUNTIME_WATCH_ROOT', OFF, 'Configuration is read at start only.'),
  ignored('RUNTIME_IGNOREDOTFILES', ON, 'Files whose names start with a dot are never read.'),
  ignored('HEALTHY_WITH_AT_LEAST_ONE_CONFIG_LOADED', ON, 'Weir does not start without a configuration.'),
  ignored('FORCE_START_WITHOUT_INITIAL_CONFIG', OFF, 'Weir does not start without a configuration.'),
  ignored('CONFIG_GRPC_XDS_SERVER_URL', [], NO_XDS),
  ignored('GRPC_MAX_CONNECTION_AGE', [], 'Connections are kept until their client closes them, or a drain.'),
];

/**
 * One sentence for each variable that is set and has no effect.
 *
 * @throws SettingsError with every variable without which Weir would do something else than asked
 */
export function checkReferenceSettings(env: Environment): readonly string[] {
  const set = REFERENCE_SETTINGS.filter(({ name, fine }) => {
    const value = env[name];
    return value !== undefined && value !== '' && !fine.includes(value.toLowerCase());
  });
  const problems = set.filter(({ refused: isRefused }) => isRefused);
  if (problems.length > 0) throw new SettingsError(problems.map(({ name, instead }) => ({ name, message: instead })));
  return set.map(({ name, instead }) => `${name} has no effect here. ${instead}`);
}
