/** Each setting of envoyproxy/ratelimit has the same default, a listed difference, or a log line that it has no effect. */

import { readFileSync } from 'node:fs';
import path from 'node:path';
import { REFERENCE_SETTINGS } from '../../../src/configuration/settings/table/reference-settings';
import { SETTINGS_TABLE } from '../../../src/configuration/settings/table/settings-table';

/** A name and its default; `-` is none, or an empty text. */
const ROWS = `
HOST 0.0.0.0
PORT 8080
DEBUG_HOST 0.0.0.0
DEBUG_PORT 6070
GRPC_HOST 0.0.0.0
GRPC_PORT 8081
GRPC_UDS -
GRPC_MAX_CONNECTION_AGE 24h
GRPC_MAX_CONNECTION_AGE_GRACE 1h
GRPC_SERVER_USE_TLS false
GRPC_SERVER_TLS_CERT -
GRPC_SERVER_TLS_KEY -
GRPC_CLIENT_TLS_CACERT -
GRPC_CLIENT_TLS_SAN -
LOG_LEVEL WARN
LOG_FORMAT text
CONFIG_TYPE FILE
FORCE_START_WITHOUT_INITIAL_CONFIG false
CONFIG_GRPC_XDS_NODE_ID default
CONFIG_GRPC_XDS_NODE_METADATA -
CONFIG_GRPC_XDS_SERVER_URL localhost:18000
CONFIG_GRPC_XDS_SERVER_CONNECT_RETRY_INTERVAL 3s
CONFIG_GRPC_XDS_CLIENT_ADDITIONAL_HEADERS -
CONFIG_GRPC_XDS_SERVER_USE_TLS false
CONFIG_GRPC_XDS_CLIENT_TLS_CERT -
CONFIG_GRPC_XDS_CLIENT_TLS_KEY -
CONFIG_GRPC_XDS_SERVER_TLS_CACERT -
CONFIG_GRPC_XDS_SERVER_TLS_SAN -
XDS_CLIENT_BACKOFF_INITIAL_INTERVAL 10s
XDS_CLIENT_BACKOFF_MAX_INTERVAL 60s
XDS_CLIENT_BACKOFF_RANDOM_FACTOR 0.5
XDS_CLIENT_BACKOFF_JITTER true
XDS_CLIENT_MAX_MSG_SIZE_IN_BYTES 0
USE_STATSD true
USE_DOG_STATSD false
USE_DOG_STATSD_MOGRIFIERS -
USE_PROMETHEUS false
PROMETHEUS_ADDR :9090
PROMETHEUS_PATH /metrics
PROMETHEUS_MAPPER_YAML -
PROMETHEUS_RESPONSE_TIME_AS_MILLISECONDS false
STATSD_HOST localhost
STATSD_PORT 8125
STATSD_PROTOCOL tcp
GOSTATS_LOGGING_SINK_DISABLED false
EXTRA_TAGS -
STATS_FLUSH_INTERVAL 10s
DISABLE_STATS false
RUNTIME_ROOT /srv/runtime_data/current
RUNTIME_SUBDIRECTORY -
RUNTIME_APPDIRECTORY config
RUNTIME_IGNOREDOTFILES false
RUNTIME_WATCH_ROOT true
EXPIRATION_JITTER_MAX_SECONDS 300
LOCAL_CACHE_SIZE_IN_BYTES 0
NEAR_LIMIT_RATIO 0.8
CACHE_KEY_PREFIX -
BACKEND_TYPE redis
STOP_CACHE_KEY_INCREMENT_WHEN_OVERLIMIT false
LIMIT_RESPONSE_HEADERS_ENABLED false
LIMIT_LIMIT_HEADER RateLimit-Limit
LIMIT_REMAINING_HEADER RateLimit-Remaining
LIMIT_RESET_HEADER RateLimit-Reset
HEALTHY_WITH_AT_LEAST_ONE_CONFIG_LOADED false
REDIS_SOCKET_TYPE unix
REDIS_TYPE SINGLE
REDIS_URL /var/run/nutcracker/ratelimit.sock
REDIS_POOL_SIZE 10
REDIS_AUTH -
REDIS_TLS false
REDIS_TLS_CLIENT_CERT -
REDIS_TLS_CLIENT_KEY -
REDIS_TLS_CACERT -
REDIS_TLS_SKIP_HOSTNAME_VERIFICATION false
REDIS_PIPELINE_WINDOW 0
REDIS_PIPELINE_LIMIT 0
REDIS_CLUSTER_PIPELINE_PARALLELISM 1
REDIS_SENTINEL_AUTH -
REDIS_TIMEOUT 10s
REDIS_POOL_ON_EMPTY_BEHAVIOR WAIT
REDIS_HEALTH_CHECK_ACTIVE_CONNECTION false
REDIS_STARTUP_INITIAL_INTERVAL 1s
REDIS_STARTUP_MAX_INTERVAL 30s
REDIS_STARTUP_MAX_ELAPSED_TIME 0
REDIS_PERSECOND false
REDIS_PERSECOND_SOCKET_TYPE unix
REDIS_PERSECOND_TYPE SINGLE
REDIS_PERSECOND_URL /var/run/nutcracker/ratelimitpersecond.sock
REDIS_PERSECOND_POOL_SIZE 10
REDIS_PERSECOND_AUTH -
REDIS_PERSECOND_TLS false
REDIS_PERSECOND_SENTINEL_AUTH -
REDIS_PERSECOND_PIPELINE_WINDOW 0
REDIS_PERSECOND_PIPELINE_LIMIT 0
REDIS_PERSECOND_CLUSTER_PIPELINE_PARALLELISM 1
REDIS_PERSECOND_TIMEOUT 10s
REDIS_PERSECOND_POOL_ON_EMPTY_BEHAVIOR WAIT
MEMCACHE_HOST_PORT -
MEMCACHE_MAX_IDLE_CONNS 2
MEMCACHE_SRV -
MEMCACHE_SRV_REFRESH 0
MEMCACHE_TLS false
MEMCACHE_TLS_CLIENT_CERT -
MEMCACHE_TLS_CLIENT_KEY -
MEMCACHE_TLS_CACERT -
MEMCACHE_TLS_SKIP_HOSTNAME_VERIFICATION false
SHADOW_MODE false
QUOTA_MODE false
RESPONSE_DYNAMIC_METADATA false
MERGE_DOMAIN_CONFIG false
TRACING_ENABLED false
TRACING_SERVICE_NAME RateLimit
TRACING_SERVICE_NAMESPACE -
TRACING_SERVICE_INSTANCE_ID -
TRACING_EXPORTER_PROTOCOL http
TRACING_SAMPLING_RATE 1
REDIS_CLOSE_CONNECTION_ON_READONLY_ERROR false
USE_CALENDAR_MONTH_RATE_LIMIT false
SANITIZE_DESCRIPTOR_METRIC_DOTS false
LIMIT_ALL_DESCRIPTORS_HEADERS_ENABLED false
`
  .trim()
  .split('\n')
  .map((row) => row.split(' ') as [string, string]);

const DIFFERENCES = readFileSync(path.resolve(__dirname, '../../../docs/differences.md'), 'utf8');
const OURS = new Map(Object.values(SETTINGS_TABLE).map((setting) => [setting.name, setting] as const));

/** Unset, they mean the default of the reference all the same: the meaning says so. */
function saysDefault({ meaning }: { readonly meaning: string }, value: string): boolean {
  return meaning.includes(value);
}

function isSame(ours: string | undefined, theirs: string): boolean {
  return (ours ?? '').toLowerCase() === (theirs === '-' ? '' : theirs.toLowerCase());
}

test.each(ROWS)('the setting %s has the default %s of the reference, or a listed difference', (name, theirs) => {
  const setting = OURS.get(name);
  if (setting === undefined) {
    expect(REFERENCE_SETTINGS.map((row) => row.name)).toContain(name);
    return;
  }
  if (isSame(setting.default, theirs) || (setting.default === undefined && saysDefault(setting, theirs))) return;
  expect([name, DIFFERENCES.includes(`\`${name}`)]).toEqual([name, true]);
});

afterAll(() => {
  const used = ROWS.filter(([name]) => OURS.has(name));
  process.stderr.write(
    `of ${ROWS.length} settings of the reference ${used.length} are Weir's too, ${used.filter(([name, theirs]) => isSame(OURS.get(name)!.default, theirs)).length} with its default\n`,
  );
});
