/** Every setting of Weir: its environment variable, type, default and meaning. */

import { ALGORITHMS } from '../../../domain/algorithm/algorithms';
import { FAILURE_MODES, LEASES, LIMIT_FORMS, RESET_FORMS, RESPONSE_HEADERS } from '../../../domain/rule/limit';
import {
  boolean,
  count,
  decimal,
  duration,
  fileMode,
  integer,
  listenAddress,
  names,
  origins,
  oneOf,
  pairs,
  port,
  ratio,
  servicePort,
  spelled,
  tags,
  text,
  textLike,
} from './setting-types';
import { responseBody } from './body-setting';
import { DECISION_LOG_SETTINGS } from './decision-log-settings';
import { descriptorPlans } from './descriptor-plans';
import { EVENT_SETTINGS } from './event-settings';
import { row } from './setting-row';
import { TRACE_SETTINGS } from './trace-settings';

const LOG_LEVELS = {
  trace: 'trace',
  debug: 'debug',
  info: 'info',
  warn: 'warn',
  warning: 'warn',
  error: 'error',
  fatal: 'fatal',
  panic: 'fatal',
} as const;

const NO_MEMCACHED = 'Weir does not support memcached, because its counts are not exact; use redis or memory';

/** No control characters, spaces, braces (they would move a key to another slot) or bytes beyond ASCII. */
const KEY_PREFIX = /^(?!.*weir:)[!-z|~]+$/;

/** Names of AWS. */
const CACHE_NAME = /^[a-z0-9-]{1,100}$/i;
const ACCEPTS_CACHE_NAME = 'the name of a cache, of its replication group, or of a MemoryDB cluster';
const USER_ID = /^[!-~]{1,256}$/;
const REGION = /^[a-z0-9-]{1,50}$/;

/** A DNS name of a certificate, without a wildcard. */
const DNS_NAME = /^(?=.{1,253}$)[a-z0-9_]([a-z0-9_-]*[a-z0-9])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9])?)*$/i;

/** A response header, except those that define how a message is sent. */
const ANSWER_HEADER_NAME =
  /^(?!(?:connection|content-length|host|keep-alive|te|trailer|transfer-encoding|upgrade)$)[!#$%&'*+.^_`|~0-9a-z-]{1,64}$/i;

/** A request header in the spelling of HTTP/2, except gRPC's own ones and those that define how a message is sent. */
const HEADER_NAME =
  /^(?!grpc-)(?!(?:connection|content-length|content-type|host|keep-alive|proxy-connection|te|trailer|transfer-encoding|upgrade)$)[0-9a-z_.-]+$/i;

/** The characters of a header's value. */
const HEADER_VALUE = /^[ -~]*$/;

/** The name or IPv4 address of a host, or an IPv6 address in brackets, with a port or without; or a bare IPv6 address. */
const HOST = /^(?:[\w.-]+|\[[\da-f:.]+\])(?::\d{1,5})?$|^[\da-f:.]*:[\da-f:.]*:[\da-f:.]*$/i;

/** The length of a socket address that every system supports. */
const SOCKET_PATH = /^[ -~]{1,103}$/;

const listening = { group: 'Listening' } as const;
const configuration = { group: 'Configuration' } as const;
const decisions = { group: 'Decisions' } as const;
const answers = { group: 'Answers' } as const;
const store = { group: 'Store' } as const;
const logs = { group: 'Logs and metrics' } as const;
const admin = { group: 'Admin API' } as const;
const life = { group: 'Life cycle' } as const;

/** Keyed by the property of Settings: the variable's name in camelCase, with the unit last. */
export const SETTINGS_TABLE = {
  host: row({
    ...listening,
    name: 'HOST',
    type: text('an address'),
    default: '0.0.0.0',
    meaning: 'Listen address of the HTTP port. `127.0.0.1` serves only this machine.',
  }),
  port: row({
    ...listening,
    name: 'PORT',
    type: port(),
    default: '8080',
    meaning: 'HTTP port: `/json`, `/check`, `/v1/reservations` and `/healthcheck`.',
  }),
  jsonEnabled: row({
    ...listening,
    name: 'JSON_ENABLED',
    type: boolean(),
    default: 'true',
    meaning:
      'Serve `/json`. Any client that reaches it can take hits from every bucket, without credentials ([SECURITY.md](../.github/SECURITY.md)).',
  }),
  jsonRefundsEnabled: row({
    ...listening,
    name: 'JSON_REFUNDS_ENABLED',
    type: boolean(),
    default: 'true',
    meaning: 'Accept `is_negative_hits` on `/json` (refunds and releases); if false, 403. gRPC always accepts it.',
  }),
  httpReservationsEnabled: row({
    ...listening,
    name: 'HTTP_RESERVATIONS_ENABLED',
    type: boolean(),
    default: 'true',
    meaning: 'Serve `/v1/reservations`. If false, reservations work only over gRPC.',
  }),
  checkDomain: row({
    ...listening,
    name: 'CHECK_DOMAIN',
    type: textLike({ pattern: /^[^\p{Cc}]{1,256}$/u, accepts: 'the name of a domain' }),
    default: undefined,
    meaning:
      'Domain of `/check` ([http-check.md](http-check.md)). Needs CHECK_DESCRIPTORS. Any client that reaches it can take hits, without credentials. Unset: `/check` is not served.',
  }),
  checkDescriptors: row({
    ...listening,
    name: 'CHECK_DESCRIPTORS',
    type: descriptorPlans(),
    default: undefined,
    meaning:
      'Descriptors of a request to `/check`, as `path=path,client=client_ip; tenant=header:x-tenant|anonymous`; after `|` the value of an absent source (default `anonymous`) ([http-check.md](http-check.md#descriptors)).',
  }),
  checkTrustedHops: row({
    ...listening,
    name: 'CHECK_TRUSTED_HOPS',
    type: integer({ min: 0, max: 32 }),
    default: '0',
    meaning:
      'Trusted proxies in front of the one that asks `/check`: `client_ip` stands this many places before the last address in `X-Forwarded-For`.',
  }),
  checkHitsHeader: row({
    ...listening,
    name: 'CHECK_HITS_HEADER',
    type: textLike({ pattern: HEADER_NAME, accepts: 'the name of a header' }),
    default: undefined,
    meaning: 'Header with the number of hits of a request to `/check`, which the proxy must set; 0 only asks. Absent: 1 hit.',
  }),
  grpcHost: row({
    ...listening,
    name: 'GRPC_HOST',
    type: text('an address'),
    default: '0.0.0.0',
    meaning: 'Listen address of the gRPC port. `127.0.0.1` serves only this machine.',
  }),
  grpcPort: row({ ...listening, name: 'GRPC_PORT', type: port(), default: '8081', meaning: 'gRPC port, the one Envoy calls.' }),
  transport: row({
    ...listening,
    name: 'TRANSPORT',
    type: oneOf(['lean', 'grpc-js']),
    default: 'lean',
    meaning:
      'HTTP/2 server of the gRPC port. `grpc-js` uses several times the CPU, and a malicious client can crash it; use it only if you trust every client.',
  }),
  grpcUds: row({
    ...listening,
    name: 'GRPC_UDS',
    type: textLike({ pattern: SOCKET_PATH, accepts: 'the path of a socket, of up to 103 ASCII characters' }),
    default: undefined,
    meaning:
      'Unix socket to listen on instead of GRPC_HOST and GRPC_PORT. A file left by a dead process is replaced, one in use is not. Removed at the end.',
  }),
  grpcUdsMode: row({
    ...listening,
    name: 'GRPC_UDS_MODE',
    type: fileMode(),
    default: '0660',
    meaning: 'File mode of the GRPC_UDS socket. Users with write permission may connect.',
  }),
  grpcServerUseTls: row({
    ...listening,
    name: 'GRPC_SERVER_USE_TLS',
    type: boolean(),
    default: 'false',
    meaning: 'Use TLS (1.2 or newer, ALPN `h2`) on the gRPC port.',
  }),
  grpcServerTlsCert: row({
    ...listening,
    name: 'GRPC_SERVER_TLS_CERT',
    type: text('the path of a PEM file'),
    default: undefined,
    meaning:
      'Certificate chain of the gRPC port, without the root. Changed files are reloaded within seconds, for new connections; incomplete or unmatched ones leave the last good ones in use.',
  }),
  grpcServerTlsKey: row({
    ...listening,
    name: 'GRPC_SERVER_TLS_KEY',
    type: text('the path of a PEM file'),
    default: undefined,
    meaning: 'Private key of GRPC_SERVER_TLS_CERT.',
  }),
  grpcClientTlsCacert: row({
    ...listening,
    name: 'GRPC_CLIENT_TLS_CACERT',
    type: text('the path of a PEM file'),
    default: undefined,
    meaning:
      'CA bundle for client certificates (mTLS): clients must present one signed by it, and system roots are not trusted. Reloaded like GRPC_SERVER_TLS_CERT. Unset: none is needed.',
  }),
  grpcClientTlsSan: row({
    ...listening,
    name: 'GRPC_CLIENT_TLS_SAN',
    type: textLike({ pattern: DNS_NAME, accepts: 'a DNS name' }),
    default: undefined,
    meaning: 'DNS name (subject alternative name) that every client certificate must carry. Needs GRPC_CLIENT_TLS_CACERT.',
  }),
  grpcMaxConcurrentStreams: row({
    ...listening,
    name: 'GRPC_MAX_CONCURRENT_STREAMS',
    type: integer({ min: 1, max: 1_000_000 }),
    default: '1024',
    meaning: 'Concurrent calls on one connection; further ones are refused.',
  }),
  grpcMaxConnectionAgeMs: row({
    ...listening,
    name: 'GRPC_MAX_CONNECTION_AGE',
    type: duration({ min: '0s', max: '480h' }),
    default: '24h',
    meaning: 'Older connections (±10 %) get a GOAWAY, so that clients spread over new instances. 0: never.',
  }),
  grpcMaxConnectionAgeGraceMs: row({
    ...listening,
    name: 'GRPC_MAX_CONNECTION_AGE_GRACE',
    type: duration({ min: '1s', max: '480h' }),
    default: '1h',
    meaning: 'Time for calls on a connection past GRPC_MAX_CONNECTION_AGE to finish.',
  }),
  grpcKeepaliveTimeMs: row({
    ...listening,
    name: 'GRPC_KEEPALIVE_TIME',
    type: duration({ min: '0s', max: '480h' }),
    default: '1m',
    meaning: 'Send an HTTP/2 PING to a client silent for this time (`grpc-js`: to every client at this interval). 0: never.',
  }),
  grpcKeepaliveTimeoutMs: row({
    ...listening,
    name: 'GRPC_KEEPALIVE_TIMEOUT',
    type: duration({ min: '1s', max: '1h' }),
    default: '20s',
    meaning: 'Close a connection whose keepalive PING is not answered within this time.',
  }),
  debugHost: row({
    ...listening,
    name: 'DEBUG_HOST',
    type: text('an address'),
    default: '0.0.0.0',
    meaning: 'Listen address of the debug port. `127.0.0.1` serves only this machine.',
  }),
  debugPort: row({
    ...listening,
    name: 'DEBUG_PORT',
    type: port(),
    default: '6070',
    meaning: 'Debug port: rules, metrics and process state.',
  }),

  configType: row({
    ...configuration,
    name: 'CONFIG_TYPE',
    type: oneOf(['FILE', 'GRPC_XDS_SOTW']),
    default: 'FILE',
    meaning: 'Files, or a management server over xDS ([envoy-gateway.md](envoy-gateway.md)). `--config` always means files.',
  }),
  runtimeRoot: row({
    ...configuration,
    name: 'RUNTIME_ROOT',
    type: text('a directory'),
    default: undefined,
    meaning:
      'First part of the configuration directory RUNTIME_ROOT/RUNTIME_SUBDIRECTORY/RUNTIME_APPDIRECTORY; every .yaml and .yml file below it is read. Unset: `/srv/runtime_data/current`. Ignored with `--config` or `CONFIG_TYPE=GRPC_XDS_SOTW`.',
  }),
  runtimeSubdirectory: row({
    ...configuration,
    name: 'RUNTIME_SUBDIRECTORY',
    type: text('a directory'),
    default: '',
    meaning: 'Second part of the configuration directory.',
  }),
  runtimeAppdirectory: row({
    ...configuration,
    name: 'RUNTIME_APPDIRECTORY',
    type: text('a directory'),
    default: 'config',
    meaning: 'Last part of the configuration directory.',
  }),
  mergeDomainConfig: row({
    ...configuration,
    name: 'MERGE_DOMAIN_CONFIG',
    type: boolean(),
    default: 'false',
    meaning:
      'Allow several files for one domain: descriptors are joined in the order of the paths; fields of the domain itself come from the first file.',
  }),
  runtimeWatchRoot: row({
    ...configuration,
    name: 'RUNTIME_WATCH_ROOT',
    type: boolean(),
    default: 'true',
    meaning:
      'If RUNTIME_ROOT is a symlink, reload only when it is swapped. If `false` or not a symlink: when any file of the configuration changes.',
  }),
  forceStartWithoutInitialConfig: row({
    ...configuration,
    name: 'FORCE_START_WITHOUT_INITIAL_CONFIG',
    type: boolean(),
    default: 'false',
    meaning:
      'Report SERVING before the first good configuration, unless HEALTHY_WITH_AT_LEAST_ONE_CONFIG_LOADED is set. Calls get UNAVAILABLE until then. Ignored with `--config`, where a bad one stops the start.',
  }),
  healthyWithAtLeastOneConfigLoaded: row({
    ...configuration,
    name: 'HEALTHY_WITH_AT_LEAST_ONE_CONFIG_LOADED',
    type: boolean(),
    default: 'false',
    meaning: 'Report NOT_SERVING while no configuration is loaded or it is empty, even with FORCE_START_WITHOUT_INITIAL_CONFIG.',
  }),

  configGrpcXdsServerUrl: row({
    ...configuration,
    name: 'CONFIG_GRPC_XDS_SERVER_URL',
    type: text('host:port'),
    default: 'localhost:18000',
    meaning: 'Management server of `CONFIG_TYPE=GRPC_XDS_SOTW` (as all CONFIG_GRPC_XDS_* and XDS_CLIENT_*), resolved for each connection.',
  }),
  configGrpcXdsNodeId: row({
    ...configuration,
    name: 'CONFIG_GRPC_XDS_NODE_ID',
    type: text('a name'),
    default: 'default',
    meaning: 'Node id by which the management server selects the configuration.',
  }),
  configGrpcXdsNodeMetadata: row({
    ...configuration,
    name: 'CONFIG_GRPC_XDS_NODE_METADATA',
    type: pairs({ separator: '=', names: /./, accepts: 'name=value,name=value' }),
    default: undefined,
    meaning: 'Node metadata sent to the management server.',
  }),
  configGrpcXdsClientAdditionalHeaders: row({
    ...configuration,
    name: 'CONFIG_GRPC_XDS_CLIENT_ADDITIONAL_HEADERS',
    type: pairs({ separator: ':', names: HEADER_NAME, values: HEADER_VALUE, accepts: 'name:value,name:value in ASCII' }),
    default: undefined,
    secret: true,
    meaning: 'Headers sent to the management server.',
  }),
  configGrpcXdsServerUseTls: row({
    ...configuration,
    name: 'CONFIG_GRPC_XDS_SERVER_USE_TLS',
    type: boolean(),
    default: 'false',
    meaning: 'Use TLS to the management server.',
  }),
  configGrpcXdsClientTlsCert: row({
    ...configuration,
    name: 'CONFIG_GRPC_XDS_CLIENT_TLS_CERT',
    type: text('the path of a PEM file'),
    default: undefined,
    meaning:
      'Client certificate chain for the management server, without the root. Needs CONFIG_GRPC_XDS_CLIENT_TLS_KEY. Read for each connection, as are key and CA bundle.',
  }),
  configGrpcXdsClientTlsKey: row({
    ...configuration,
    name: 'CONFIG_GRPC_XDS_CLIENT_TLS_KEY',
    type: text('the path of a PEM file'),
    default: undefined,
    meaning: 'Private key of CONFIG_GRPC_XDS_CLIENT_TLS_CERT.',
  }),
  configGrpcXdsServerTlsCacert: row({
    ...configuration,
    name: 'CONFIG_GRPC_XDS_SERVER_TLS_CACERT',
    type: text('the path of a PEM file'),
    default: undefined,
    meaning: 'CA bundle of the management server, instead of system roots. Unset: the default of REDIS_TLS_CACERT.',
  }),
  configGrpcXdsServerTlsSan: row({
    ...configuration,
    name: 'CONFIG_GRPC_XDS_SERVER_TLS_SAN',
    type: textLike({ pattern: DNS_NAME, accepts: 'a DNS name' }),
    default: undefined,
    meaning: 'DNS name in the certificate of the management server. Unset: the host of CONFIG_GRPC_XDS_SERVER_URL.',
  }),
  configGrpcXdsServerConnectRetryIntervalMs: row({
    ...configuration,
    name: 'CONFIG_GRPC_XDS_SERVER_CONNECT_RETRY_INTERVAL',
    type: duration({ min: '10ms', max: '10m' }),
    default: '3s',
    meaning: 'First wait after a failed connection attempt to the management server; grows by XDS_CLIENT_BACKOFF_RANDOM_FACTOR.',
  }),
  xdsClientBackoffInitialIntervalMs: row({
    ...configuration,
    name: 'XDS_CLIENT_BACKOFF_INITIAL_INTERVAL',
    type: duration({ min: '10ms', max: '10m' }),
    default: '10s',
    meaning:
      'First wait after a stream to the management server ends. Applies again after a stream longer than XDS_CLIENT_BACKOFF_MAX_INTERVAL.',
  }),
  xdsClientBackoffMaxIntervalMs: row({
    ...configuration,
    name: 'XDS_CLIENT_BACKOFF_MAX_INTERVAL',
    type: duration({ min: '10ms', max: '1h' }),
    default: '60s',
    meaning: 'Longest wait between attempts to reach the management server.',
  }),
  xdsClientBackoffRandomFactor: row({
    ...configuration,
    name: 'XDS_CLIENT_BACKOFF_RANDOM_FACTOR',
    type: decimal({ min: 0, max: 10 }),
    default: '2',
    meaning: 'Growth of the wait after each failure. Values below 1 (envoyproxy/ratelimit: 0.5) count as 2.',
  }),
  xdsClientBackoffJitter: row({
    ...configuration,
    name: 'XDS_CLIENT_BACKOFF_JITTER',
    type: boolean(),
    default: 'true',
    meaning: 'Draw each wait from the upper half of its range, so that instances reconnect at different moments.',
  }),
  xdsClientMaxMsgSizeInBytes: row({
    ...configuration,
    name: 'XDS_CLIENT_MAX_MSG_SIZE_IN_BYTES',
    type: integer({ min: 0, max: 1_073_741_824 }),
    default: '0',
    meaning: 'Largest message of the management server. 0: 4 MiB.',
  }),
  xdsClientKeepaliveTimeMs: row({
    ...configuration,
    name: 'XDS_CLIENT_KEEPALIVE_TIME',
    type: duration({ min: '1s', max: '480h' }),
    default: '5m30s',
    meaning:
      'Interval of HTTP/2 PINGs to the management server. Go servers such as Envoy Gateway close connections that PING more than once in 5 minutes.',
  }),
  xdsClientKeepaliveTimeoutMs: row({
    ...configuration,
    name: 'XDS_CLIENT_KEEPALIVE_TIMEOUT',
    type: duration({ min: '100ms', max: '1h' }),
    default: '20s',
    meaning: 'Reconnect if a PING is not answered within this time.',
  }),

  defaultAlgorithm: row({
    ...decisions,
    name: 'DEFAULT_ALGORITHM',
    type: oneOf(ALGORITHMS),
    default: undefined,
    meaning:
      'Algorithm where neither limit nor domain sets one. Unset: `token_bucket` with `--config`, otherwise `fixed_window`, like envoyproxy/ratelimit.',
  }),
  defaultOverdraft: row({
    ...decisions,
    name: 'DEFAULT_OVERDRAFT',
    type: boolean(),
    default: undefined,
    meaning:
      "`overdraft` where neither limit nor domain sets it: charge a descriptor's own hits in full, even past the limit ([usage-limits.md](usage-limits.md)). Unset: `false` with `--config`, otherwise `true`, like envoyproxy/ratelimit.",
  }),
  useCalendarMonthRateLimit: row({
    ...decisions,
    name: 'USE_CALENDAR_MONTH_RATE_LIMIT',
    type: boolean(),
    default: 'false',
    meaning:
      'Count `unit: month` of `fixed_window` by calendar months in UTC instead of 30 days. Other algorithms keep 30 days, with a warning.',
  }),
  nearLimitRatio: row({
    ...decisions,
    name: 'NEAR_LIMIT_RATIO',
    type: ratio(),
    default: '0.8',
    meaning: 'Hits above this share of a limit count as `near_limit` in the metrics.',
  }),
  shadowMode: row({
    ...decisions,
    name: 'SHADOW_MODE',
    type: boolean(),
    default: 'false',
    meaning: 'Count and report everything, but deny nothing.',
  }),
  quotaMode: row({
    ...decisions,
    name: 'QUOTA_MODE',
    type: boolean(),
    default: 'false',
    meaning: 'Treat every descriptor as `quota_mode: true`: deny only if all descriptors of a request are over their limits.',
  }),

  responseHeaders: row({
    ...answers,
    name: 'RESPONSE_HEADERS',
    type: oneOf(RESPONSE_HEADERS),
    default: undefined,
    meaning:
      'Rate limit headers to the client: `off`, `reference` (the three of envoyproxy/ratelimit) or `ietf` (`RateLimit-Policy` and `RateLimit`, draft 11). Overrides LIMIT_RESPONSE_HEADERS_ENABLED; the YAML overrides both ([headers.md](headers.md)).',
  }),
  limitResponseHeadersEnabled: row({
    ...answers,
    name: 'LIMIT_RESPONSE_HEADERS_ENABLED',
    type: boolean(),
    default: 'false',
    meaning: 'Same as RESPONSE_HEADERS=reference.',
  }),
  limitLimitHeader: row({
    ...answers,
    name: 'LIMIT_LIMIT_HEADER',
    type: textLike({ pattern: ANSWER_HEADER_NAME, accepts: 'the name of a header' }),
    default: 'RateLimit-Limit',
    meaning: '`reference` header with the limit.',
  }),
  limitLimitForm: row({
    ...answers,
    name: 'LIMIT_LIMIT_FORM',
    type: oneOf(LIMIT_FORMS),
    default: 'requests_per_unit',
    meaning: 'Limit in LIMIT_LIMIT_HEADER: `requests_per_unit`, or the `capacity`, the most hits at once (they differ with a `burst`).',
  }),
  limitRemainingHeader: row({
    ...answers,
    name: 'LIMIT_REMAINING_HEADER',
    type: textLike({ pattern: ANSWER_HEADER_NAME, accepts: 'the name of a header' }),
    default: 'RateLimit-Remaining',
    meaning: '`reference` header with the remaining hits.',
  }),
  limitResetHeader: row({
    ...answers,
    name: 'LIMIT_RESET_HEADER',
    type: textLike({ pattern: ANSWER_HEADER_NAME, accepts: 'the name of a header' }),
    default: 'RateLimit-Reset',
    meaning: '`reference` header with the time until reset, rounded up.',
  }),
  limitResetForm: row({
    ...answers,
    name: 'LIMIT_RESET_FORM',
    type: oneOf(RESET_FORMS),
    default: 'seconds',
    meaning:
      'Reset in LIMIT_RESET_HEADER: `seconds`, `milliseconds`, a `duration` such as `6m0s` or `20ms`, or its `epoch` time in seconds since 1970 by the clock of the store.',
  }),
  retryAfterEnabled: row({
    ...answers,
    name: 'RETRY_AFTER_ENABLED',
    type: boolean(),
    default: undefined,
    meaning:
      'Send `Retry-After` with every denial: whole seconds, rounded up, until the same request would pass. Unset: only if a denying limit uses `ietf` headers.',
  }),
  retryAfterMsEnabled: row({
    ...answers,
    name: 'RETRY_AFTER_MS_ENABLED',
    type: boolean(),
    default: 'false',
    meaning:
      'Send `Retry-After-Ms` beside `Retry-After`, or `X-Should-Retry: false` instead of both where no wait helps ([headers.md](headers.md#retry-after)).',
  }),
  responseBody: row({
    ...answers,
    name: 'RESPONSE_BODY',
    type: responseBody(),
    default: 'off',
    meaning:
      'Body of denials: `off`, `problem` (application/problem+json, RFC 9457), `text:` with a text or `json:` with a JSON object, both with placeholders. The YAML overrides it ([headers.md](headers.md#bodies)).',
  }),
  responseDynamicMetadata: row({
    ...answers,
    name: 'RESPONSE_DYNAMIC_METADATA',
    type: boolean(),
    default: 'false',
    meaning:
      'Return `domain`, `descriptors`, `hitsAddend` of the request and the `metadata` of its rules as Envoy dynamic metadata, each string cut at 1 KiB, all at 32 KiB.',
  }),
  responseDecisionMetadata: row({
    ...answers,
    name: 'RESPONSE_DECISION_METADATA',
    type: boolean(),
    default: 'false',
    meaning:
      'Explain the decision in Envoy dynamic metadata `decision`, for access logs: generation, denying rules, and by descriptor rule, limit, code, remaining hits and milliseconds until reset.',
  }),

  backendType: row({
    ...store,
    name: 'BACKEND_TYPE',
    type: oneOf(['redis', 'memory'], { refused: { memcache: NO_MEMCACHED } }),
    default: undefined,
    meaning:
      'Count in Redis, shared by all instances, or in this process. Unset: redis if REDIS_URL or REDIS_HOST is set, otherwise memory. Memory by default is refused if RUNTIME_ROOT or another variable of Redis is set, such as REDIS_AUTH or REDIS_HOSTNAME.',
  }),
  redisUrl: row({
    ...store,
    name: 'REDIS_URL',
    type: text(
      'a host:port, the path of a socket, a redis:// or rediss:// URL, host1:6379,host2:6379 of a cluster, or NAME,host1:26379,host2:26379',
    ),
    default: undefined,
    secret: true,
    meaning:
      "Redis server; with REDIS_TYPE=sentinel the primary's name and the sentinels, with REDIS_TYPE=cluster some of the nodes. Unset with BACKEND_TYPE=redis: the socket `/var/run/nutcracker/ratelimit.sock`.",
  }),
  redisHost: row({
    ...store,
    name: 'REDIS_HOST',
    type: textLike({ pattern: HOST, accepts: 'the name or address of a host, with a port or without, or set REDIS_URL' }),
    default: undefined,
    meaning: 'Host of Redis, with REDIS_PORT; REDIS_URL wins.',
  }),
  redisPort: row({
    ...store,
    name: 'REDIS_PORT',
    type: servicePort(),
    default: undefined,
    meaning: 'Port of Redis at REDIS_HOST. Unset: `6379`. The `tcp://` URL that Kubernetes sets for a service `redis` is ignored.',
  }),
  redisType: row({
    ...store,
    name: 'REDIS_TYPE',
    type: oneOf(['single', 'sentinel', 'cluster']),
    default: 'single',
    meaning: 'One server, the primary that the sentinels of REDIS_URL name, or a Redis Cluster.',
  }),
  redisSocketType: row({
    ...store,
    name: 'REDIS_SOCKET_TYPE',
    type: oneOf(['unix', 'tcp']),
    default: 'unix',
    meaning:
      'Read a REDIS_URL without a scheme as the path of a unix socket or as `host:port`. A value of the form `host:port` is always read as such.',
  }),
  redisAuth: row({
    ...store,
    name: 'REDIS_AUTH',
    type: text('a password, or user:password'),
    default: undefined,
    secret: true,
    meaning: 'Password of Redis. Overrides the credentials in REDIS_URL.',
  }),
  redisAuthFile: row({
    ...store,
    name: 'REDIS_AUTH_FILE',
    type: text('the path of a file'),
    default: undefined,
    meaning: 'File with the value of REDIS_AUTH, read for every new connection, so that it can be rotated.',
  }),
  redisAwsIamAuth: row({
    ...store,
    name: 'REDIS_AWS_IAM_AUTH',
    type: boolean(),
    default: 'false',
    meaning: 'Authenticate to ElastiCache or MemoryDB with tokens of AWS IAM ([redis.md](redis.md#tokens)).',
  }),
  redisAwsIamCacheName: row({
    ...store,
    name: 'REDIS_AWS_IAM_CACHE_NAME',
    type: textLike({ pattern: CACHE_NAME, accepts: ACCEPTS_CACHE_NAME }),
    default: undefined,
    meaning: 'Name of the cache, its replication group or MemoryDB cluster.',
  }),
  redisAwsIamUserId: row({
    ...store,
    name: 'REDIS_AWS_IAM_USER_ID',
    type: textLike({ pattern: USER_ID, accepts: 'the id of a user' }),
    default: undefined,
    meaning: 'User of Redis with IAM.',
  }),
  redisAwsIamServerless: row({
    ...store,
    name: 'REDIS_AWS_IAM_SERVERLESS',
    type: boolean(),
    default: 'false',
    meaning: 'The cache is serverless.',
  }),
  redisAwsIamRegion: row({
    ...store,
    name: 'REDIS_AWS_IAM_REGION',
    type: textLike({ pattern: REGION, accepts: 'a region, such as eu-central-1' }),
    default: undefined,
    meaning: 'Region of the caches. Unset: AWS_REGION.',
  }),
  awsRegion: row({
    ...store,
    name: 'AWS_REGION',
    // Pods of AWS have it, whatever Weir does: no value of it stops the start.
    type: text('a region, such as eu-central-1'),
    default: undefined,
    meaning: 'Region, if REDIS_AWS_IAM_REGION is unset.',
  }),
  redisAwsIamService: row({
    ...store,
    name: 'REDIS_AWS_IAM_SERVICE',
    type: oneOf(['elasticache', 'memorydb']),
    default: 'elasticache',
    meaning: 'Service of the caches.',
  }),
  redisAzureEntraAuth: row({
    ...store,
    name: 'REDIS_AZURE_ENTRA_AUTH',
    type: boolean(),
    default: 'false',
    meaning: 'Authenticate with tokens of Microsoft Entra ID ([redis.md](redis.md#tokens)).',
  }),
  redisAuthRenewalMs: row({
    ...store,
    name: 'REDIS_AUTH_RENEWAL',
    type: duration({ min: '1s', max: '11h' }),
    default: '1h',
    meaning: 'Longest time until an open connection gets another token.',
  }),
  redisSentinelAuth: row({
    ...store,
    name: 'REDIS_SENTINEL_AUTH',
    type: text('a password, or user:password'),
    default: undefined,
    secret: true,
    meaning: 'Password of the sentinels. Their servers use REDIS_AUTH.',
  }),
  redisTls: row({
    ...store,
    name: 'REDIS_TLS',
    type: boolean(),
    default: 'false',
    meaning: 'Use TLS to Redis and sentinels. `rediss://` always does.',
  }),
  redisTlsClientCert: row({
    ...store,
    name: 'REDIS_TLS_CLIENT_CERT',
    type: text('the path of a PEM file'),
    default: undefined,
    meaning: 'Client certificate chain for Redis, without the root. Needs REDIS_TLS_CLIENT_KEY. Read again for each connection.',
  }),
  redisTlsClientKey: row({
    ...store,
    name: 'REDIS_TLS_CLIENT_KEY',
    type: text('the path of a PEM file'),
    default: undefined,
    meaning: 'Private key of REDIS_TLS_CLIENT_CERT. Read again for each connection.',
  }),
  redisTlsCacert: row({
    ...store,
    name: 'REDIS_TLS_CACERT',
    type: text('the path of a PEM file'),
    default: undefined,
    meaning:
      'CA bundle of Redis, instead of system roots. Unset: the roots of Node, of the system, and of SSL_CERT_FILE, SSL_CERT_DIR and NODE_EXTRA_CA_CERTS. Read again for each connection.',
  }),
  redisTlsSkipHostnameVerification: row({
    ...store,
    name: 'REDIS_TLS_SKIP_HOSTNAME_VERIFICATION',
    type: boolean(),
    default: 'false',
    meaning: 'Accept a Redis certificate for another host name; its signature is still verified.',
  }),
  redisPersecond: row({
    ...store,
    name: 'REDIS_PERSECOND',
    type: boolean(),
    default: 'false',
    meaning: 'Count limits of one second in a second Redis. Both use REDIS_TLS_* certificates.',
  }),
  redisPersecondUrl: row({
    ...store,
    name: 'REDIS_PERSECOND_URL',
    type: text('what REDIS_URL takes'),
    default: undefined,
    secret: true,
    meaning: 'Redis for limits of one second. Unset: the socket `/var/run/nutcracker/ratelimitpersecond.sock`.',
  }),
  redisPersecondType: row({
    ...store,
    name: 'REDIS_PERSECOND_TYPE',
    type: oneOf(['single', 'sentinel', 'cluster']),
    default: 'single',
    meaning: 'REDIS_TYPE of the Redis for limits of one second.',
  }),
  redisPersecondSocketType: row({
    ...store,
    name: 'REDIS_PERSECOND_SOCKET_TYPE',
    type: oneOf(['unix', 'tcp']),
    default: 'unix',
    meaning: 'REDIS_SOCKET_TYPE of the Redis for limits of one second.',
  }),
  redisPersecondAuth: row({
    ...store,
    name: 'REDIS_PERSECOND_AUTH',
    type: text('a password, or user:password'),
    default: undefined,
    secret: true,
    meaning: 'REDIS_AUTH of the Redis for limits of one second.',
  }),
  redisPersecondAuthFile: row({
    ...store,
    name: 'REDIS_PERSECOND_AUTH_FILE',
    type: text('the path of a file'),
    default: undefined,
    meaning: 'REDIS_AUTH_FILE of the Redis for limits of one second.',
  }),
  redisPersecondAwsIamAuth: row({
    ...store,
    name: 'REDIS_PERSECOND_AWS_IAM_AUTH',
    type: boolean(),
    default: 'false',
    meaning: 'REDIS_AWS_IAM_AUTH of the Redis for limits of one second.',
  }),
  redisPersecondAwsIamCacheName: row({
    ...store,
    name: 'REDIS_PERSECOND_AWS_IAM_CACHE_NAME',
    type: textLike({ pattern: CACHE_NAME, accepts: ACCEPTS_CACHE_NAME }),
    default: undefined,
    meaning: 'REDIS_AWS_IAM_CACHE_NAME of the Redis for limits of one second.',
  }),
  redisPersecondAwsIamUserId: row({
    ...store,
    name: 'REDIS_PERSECOND_AWS_IAM_USER_ID',
    type: textLike({ pattern: USER_ID, accepts: 'the id of a user' }),
    default: undefined,
    meaning: 'REDIS_AWS_IAM_USER_ID of the Redis for limits of one second.',
  }),
  redisPersecondAwsIamServerless: row({
    ...store,
    name: 'REDIS_PERSECOND_AWS_IAM_SERVERLESS',
    type: boolean(),
    default: 'false',
    meaning: 'REDIS_AWS_IAM_SERVERLESS of the Redis for limits of one second.',
  }),
  redisPersecondAzureEntraAuth: row({
    ...store,
    name: 'REDIS_PERSECOND_AZURE_ENTRA_AUTH',
    type: boolean(),
    default: 'false',
    meaning: 'REDIS_AZURE_ENTRA_AUTH of the Redis for limits of one second.',
  }),
  redisPersecondSentinelAuth: row({
    ...store,
    name: 'REDIS_PERSECOND_SENTINEL_AUTH',
    type: text('a password, or user:password'),
    default: undefined,
    secret: true,
    meaning: 'REDIS_SENTINEL_AUTH of the Redis for limits of one second.',
  }),
  redisPersecondTls: row({
    ...store,
    name: 'REDIS_PERSECOND_TLS',
    type: boolean(),
    default: 'false',
    meaning: 'REDIS_TLS of the Redis for limits of one second.',
  }),
  redisOpTimeoutMs: row({
    ...store,
    name: 'REDIS_OP_TIMEOUT',
    type: duration({ min: '1ms', max: '1s' }),
    default: '5ms',
    meaning:
      'Timeout of one Redis command; then the failure mode decides its requests. Up to 100 ms, within the time of the callers, while 16 or more calls wait or this process runs late.',
  }),
  redisPipelineWindowMs: row({
    ...store,
    name: 'REDIS_PIPELINE_WINDOW',
    type: duration({ min: '0', max: '100ms' }),
    default: '0',
    meaning:
      'Longest wait of a call for others that then share its Redis command, rounded to milliseconds. Calls wait only while that gains company. 0: calls that arrive together share a command, and none waits.',
  }),
  redisPipelineLimit: row({
    ...store,
    name: 'REDIS_PIPELINE_LIMIT',
    type: integer({ min: 0, max: 1_000_000 }),
    default: '0',
    meaning: 'Calls that end such a wait early. 0: 16.',
  }),
  redisPersecondPipelineWindowMs: row({
    ...store,
    name: 'REDIS_PERSECOND_PIPELINE_WINDOW',
    type: duration({ min: '0', max: '100ms' }),
    default: '0',
    meaning: 'REDIS_PIPELINE_WINDOW of the Redis for limits of one second.',
  }),
  redisPersecondPipelineLimit: row({
    ...store,
    name: 'REDIS_PERSECOND_PIPELINE_LIMIT',
    type: integer({ min: 0, max: 1_000_000 }),
    default: '0',
    meaning: 'REDIS_PIPELINE_LIMIT of the Redis for limits of one second.',
  }),
  redisConnectTimeoutMs: row({
    ...store,
    name: 'REDIS_CONNECT_TIMEOUT',
    type: duration({ min: '1ms', max: '1m' }),
    default: '1s',
    meaning: 'Timeout of each step of connecting to Redis: TCP or TLS, then each reply of the handshake.',
  }),
  redisInFlightMax: row({
    ...store,
    name: 'REDIS_IN_FLIGHT_MAX',
    type: integer({ min: 1, max: 1_000_000 }),
    default: '10000',
    meaning: 'Calls that may wait for one Redis server; further ones get UNAVAILABLE.',
  }),
  denyCacheMax: row({
    ...store,
    name: 'DENY_CACHE_MAX',
    type: integer({ min: 0, max: 1_000_000 }),
    default: '10000',
    meaning: 'Buckets in the deny cache: the same hits are denied without Redis until they would fit, at most for one second. 0: off.',
  }),
  leases: row({
    ...store,
    name: 'LEASES',
    type: oneOf(LEASES),
    default: 'off',
    meaning:
      '`auto`: charge hits of busy buckets ahead, and admit requests from them without Redis, for limits without `leases`; still exact. For fixed windows of 10 seconds and more ([algorithms.md](algorithms.md#leases)).',
  }),
  redisBreakerFailures: row({
    ...store,
    name: 'REDIS_BREAKER_FAILURES',
    type: integer({ min: 1, max: 1000 }),
    default: '5',
    meaning: 'Consecutive failed Redis commands within REDIS_BREAKER_WINDOW that open the circuit breaker.',
  }),
  redisBreakerWindowMs: row({
    ...store,
    name: 'REDIS_BREAKER_WINDOW',
    type: duration({ min: '10ms', max: '10m' }),
    default: '10s',
    meaning: 'Maximum age of the first failure that opens the breaker.',
  }),
  redisBreakerOpenMs: row({
    ...store,
    name: 'REDIS_BREAKER_OPEN',
    type: duration({ min: '10ms', max: '10m' }),
    default: '30s',
    meaning:
      'Time until an open breaker lets one call try Redis (every second while Redis answers errors). A reconnect, or a timely answer to a PING (every second) or heartbeat (every 5 s), closes it at once.',
  }),
  failureMode: row({
    ...store,
    name: 'FAILURE_MODE',
    type: oneOf(FAILURE_MODES),
    default: 'local',
    meaning:
      'Decides while Redis does not, for limits without `failure_mode`: `local` (this process enforces its share), `open` (pass), `closed` (deny), `unavailable` (an error; `failure_mode_deny` of Envoy decides).',
  }),
  failureModeInstances: row({
    ...store,
    name: 'FAILURE_MODE_INSTANCES',
    type: integer({ min: 1, max: 1000 }),
    default: '1',
    meaning: 'Instances that share a limit in mode `local` until Redis has counted them.',
  }),
  failureModeFile: row({
    ...store,
    name: 'FAILURE_MODE_FILE',
    type: text('a path'),
    default: undefined,
    meaning:
      'File that keeps the local shares of mode `local` over a restart while Redis is away ([failure-modes.md](failure-modes.md#a-restart-during-an-outage)). With several workers, each adds `.` and its number to the name. No two other processes may use the same file. Unset: a restart begins with full shares. No effect with the memory store.',
  }),
  cacheKeyPrefix: row({
    ...store,
    name: 'CACHE_KEY_PREFIX',
    type: textLike({ pattern: KEY_PREFIX, accepts: 'printable ASCII without spaces, without { and }, and without weir:' }),
    default: '',
    meaning: 'Prefix of every key in Redis, for several installations on one server.',
  }),
  memoryBucketsMax: row({
    ...store,
    name: 'MEMORY_BUCKETS_MAX',
    type: integer({ min: 1, max: 10_000_000 }),
    default: '1000000',
    meaning:
      'Buckets in the memory store; beyond it those with hits left are evicted first, least recently used first ([failure-modes.md](failure-modes.md#when-there-are-too-many-buckets)). A bucket takes 40 bytes plus its key, at most 300; sliding_window_log up to 84 more for each hit.',
  }),
  controlData: row({
    ...store,
    name: 'CONTROL_DATA',
    type: boolean(),
    default: 'false',
    meaning:
      'Follow control data: tenants, plans, overrides, blocks and passes that change while Weir runs ([control-data.md](control-data.md)). Set it on every instance that shares the Redis.',
  }),
  controlFile: row({
    ...store,
    name: 'CONTROL_FILE',
    type: text('a path'),
    default: undefined,
    meaning:
      'File that keeps control data with the memory store; implies CONTROL_DATA. One process for each file. Unset: they are lost at the end. No effect with Redis.',
  }),

  logLevel: row({
    ...logs,
    name: 'LOG_LEVEL',
    type: spelled(LOG_LEVELS),
    default: 'info',
    meaning:
      'Minimum severity to log. `warning` means `warn`, `panic` means `fatal`. What GRPC_TRACE and GRPC_VERBOSITY request of grpc-js appears at `debug`.',
  }),
  logFormat: row({
    ...logs,
    name: 'LOG_FORMAT',
    type: oneOf(['text', 'json']),
    default: 'text',
    meaning: 'Format of log lines ([logs.md](logs.md)).',
  }),
  metricSeriesMax: row({
    ...logs,
    name: 'METRIC_SERIES_MAX',
    type: integer({ min: 1, max: 1_000_000 }),
    default: '10000',
    meaning:
      'Rules with metric series of their own; further ones count as `other`. At most half may carry request values (`detailed_metric`, `value_to_metric`, keys of an override).',
  }),
  topKeys: row({
    ...logs,
    name: 'TOP_KEYS',
    type: boolean(),
    default: 'false',
    meaning:
      'Record which keys ask most, are denied most and are nearest to their limit ([who-is-limited.md](who-is-limited.md#top-keys)). Implied by METRIC_TOP_KEYS and ADMIN_PORT.',
  }),
  topKeysCapacity: row({
    ...logs,
    name: 'TOP_KEYS_CAPACITY',
    type: integer({ min: 64, max: 4_096 }),
    default: '512',
    meaning:
      'Counters of each rule for TOP_KEYS. A count is too high by at most the hits of the rule divided by this. Memory grows with it.',
  }),
  metricTopKeys: row({
    ...logs,
    name: 'METRIC_TOP_KEYS',
    type: integer({ min: 0, max: 100 }),
    default: '0',
    meaning: 'Keys in `weir_top_key_hits` for each question (`asked`, `denied`) and process. 0: none.',
  }),
  sanitizeDescriptorMetricDots: row({
    ...logs,
    name: 'SANITIZE_DESCRIPTOR_METRIC_DOTS',
    type: boolean(),
    default: 'false',
    meaning:
      'Write `_` for dots of descriptors in rule metrics, so that each level is one of a statsd name. Dots of IPv4 addresses are always replaced.',
  }),
  extraTags: row({
    ...logs,
    name: 'EXTRA_TAGS',
    type: tags(),
    default: undefined,
    meaning:
      'Tags on every metric: labels in Prometheus (`_` replaces characters other than letters and digits in a name), tags in dogstatsd, a suffix in statsd (`.__cluster=blue.__region=eu`).',
  }),
  usePrometheus: row({
    ...logs,
    name: 'USE_PROMETHEUS',
    type: boolean(),
    default: 'false',
    meaning: 'Serve the metrics at PROMETHEUS_ADDR too, beside `/metrics` on DEBUG_PORT.',
  }),
  prometheusAddr: row({
    ...logs,
    name: 'PROMETHEUS_ADDR',
    type: listenAddress(),
    default: ':9090',
    meaning: 'Listen address of USE_PROMETHEUS. Without a host: all addresses.',
  }),
  prometheusPath: row({
    ...logs,
    name: 'PROMETHEUS_PATH',
    type: textLike({ pattern: /^\/[!-~]{0,255}$/, accepts: 'a path that begins with a slash' }),
    default: '/metrics',
    meaning: 'HTTP path of the metrics at PROMETHEUS_ADDR.',
  }),
  useStatsd: row({
    ...logs,
    name: 'USE_STATSD',
    type: boolean(),
    default: undefined,
    meaning:
      'Send the metrics to statsd ([metrics.md](metrics.md#in-statsd)). Unset: only if STATSD_HOST, STATSD_PORT or STATSD_PROTOCOL is set and USE_DOG_STATSD is not.',
  }),
  useDogStatsd: row({
    ...logs,
    name: 'USE_DOG_STATSD',
    type: boolean(),
    default: 'false',
    meaning: 'Send the metrics to dogstatsd, over UDP, with tags.',
  }),
  useDogStatsdMogrifiers: row({
    ...logs,
    name: 'USE_DOG_STATSD_MOGRIFIERS',
    type: names({ max: 32 }),
    default: undefined,
    meaning:
      'Rewrite rules for USE_DOG_STATSD. Rule `A` has DOG_STATSD_MOGRIFIER_A_PATTERN (a Go regular expression of at most 1024 characters), DOG_STATSD_MOGRIFIER_A_NAME and DOG_STATSD_MOGRIFIER_A_TAGS (as EXTRA_TAGS). The first that matches a metric name replaces it (`$1`: first group) and adds the tags.',
  }),
  statsdHost: row({
    ...logs,
    name: 'STATSD_HOST',
    type: text('a host name or an address'),
    default: undefined,
    meaning: 'statsd or dogstatsd server. Unset: `localhost`.',
  }),
  statsdPort: row({
    ...logs,
    name: 'STATSD_PORT',
    type: integer({ min: 1, max: 65_535 }),
    default: undefined,
    meaning: 'Port of STATSD_HOST. Unset: `8125`.',
  }),
  statsdProtocol: row({
    ...logs,
    name: 'STATSD_PROTOCOL',
    type: oneOf(['tcp', 'udp']),
    default: undefined,
    meaning: 'Protocol of statsd. Unset: `tcp`. dogstatsd always uses UDP.',
  }),
  statsFlushIntervalMs: row({
    ...logs,
    name: 'STATS_FLUSH_INTERVAL',
    type: duration({ min: '100ms', max: '1h' }),
    default: '10s',
    meaning: 'Interval between statsd flushes.',
  }),
  disableStats: row({
    ...logs,
    name: 'DISABLE_STATS',
    type: boolean(),
    default: 'false',
    meaning: 'Send nothing to statsd and do not listen on PROMETHEUS_ADDR.',
  }),

  ...DECISION_LOG_SETTINGS,

  ...TRACE_SETTINGS,

  ...EVENT_SETTINGS,

  adminPort: row({
    ...admin,
    name: 'ADMIN_PORT',
    type: port(),
    default: undefined,
    meaning: 'Port of the admin API ([admin-api.md](admin-api.md)). Unset: none.',
  }),
  adminHost: row({
    ...admin,
    name: 'ADMIN_HOST',
    type: text('an address'),
    default: '127.0.0.1',
    meaning: 'Listen address of the admin API. `0.0.0.0`: all addresses.',
  }),
  adminAuth: row({
    ...admin,
    name: 'ADMIN_AUTH',
    type: oneOf(['required', 'off']),
    default: 'required',
    meaning:
      '`required`: every request needs a token of ADMIN_TOKENS_FILE or a JWT. `off`: every request is admin; only on a loopback ADMIN_HOST, for requests that name a loopback host.',
  }),
  adminTokensFile: row({
    ...admin,
    name: 'ADMIN_TOKENS_FILE',
    type: text('a file'),
    default: undefined,
    meaning:
      'File with a line `NAME ROLE SHA256` for each token: name in the audit log; `viewer`, `support` or `admin`; SHA-256 of the token in hexadecimal. Or `NAME tenant SHA256 DOMAIN TENANT`. Reloaded when it changes.',
  }),
  adminJwtJwksFile: row({
    ...admin,
    name: 'ADMIN_JWT_JWKS_FILE',
    type: text('a file'),
    default: undefined,
    meaning: 'JSON Web Key Set that verifies JWTs. Needs ADMIN_JWT_ISSUER and ADMIN_JWT_AUDIENCE. Reloaded when it changes.',
  }),
  adminJwtIssuer: row({
    ...admin,
    name: 'ADMIN_JWT_ISSUER',
    type: text(),
    default: undefined,
    meaning: '`iss` of every JWT.',
  }),
  adminJwtAudience: row({
    ...admin,
    name: 'ADMIN_JWT_AUDIENCE',
    type: text(),
    default: undefined,
    meaning: '`aud` of every JWT.',
  }),
  adminJwtRoleClaim: row({
    ...admin,
    name: 'ADMIN_JWT_ROLE_CLAIM',
    type: textLike({ pattern: /^[ -~]{1,128}$/, accepts: 'the name of a claim' }),
    default: 'role',
    meaning: 'Claim with the role, or a list, where the highest counts.',
  }),
  adminTlsCert: row({
    ...admin,
    name: 'ADMIN_TLS_CERT',
    type: text('a file'),
    default: undefined,
    meaning: 'PEM certificate of the admin API, which turns TLS on. Needs ADMIN_TLS_KEY. Reloaded when they change.',
  }),
  adminTlsKey: row({
    ...admin,
    name: 'ADMIN_TLS_KEY',
    type: text('a file'),
    default: undefined,
    meaning: 'PEM private key of ADMIN_TLS_CERT.',
  }),
  adminTlsClientCacert: row({
    ...admin,
    name: 'ADMIN_TLS_CLIENT_CACERT',
    type: text('a file'),
    default: undefined,
    meaning: 'CA bundle for client certificates, which clients of the admin API must then present.',
  }),
  adminFailedTriesMax: row({
    ...admin,
    name: 'ADMIN_FAILED_TRIES_MAX',
    type: integer({ min: 1, max: 10_000 }),
    default: '10',
    meaning:
      'Invalid credentials from one address (IPv6: one /64) in a minute; further requests get 429, except with credentials that this process found valid before.',
  }),
  adminBodyBytesMax: row({
    ...admin,
    name: 'ADMIN_BODY_BYTES_MAX',
    type: integer({ min: 1024, max: 1_048_576 }),
    default: '65536',
    meaning: 'Most bytes of the body of an admin request.',
  }),
  adminPageMax: row({
    ...admin,
    name: 'ADMIN_PAGE_MAX',
    type: integer({ min: 1, max: 1000 }),
    default: '200',
    meaning: 'Most items on one page of a list.',
  }),
  adminStreamsMax: row({
    ...admin,
    name: 'ADMIN_STREAMS_MAX',
    type: integer({ min: 1, max: 100 }),
    default: '8',
    meaning: 'Most live tails at once.',
  }),

  adminConsole: row({
    ...admin,
    name: 'ADMIN_CONSOLE',
    type: boolean(),
    default: 'true',
    meaning: 'Serve the console ([console.md](console.md)) at `/` of ADMIN_PORT.',
  }),
  adminUsageOrigins: row({
    ...admin,
    name: 'ADMIN_USAGE_ORIGINS',
    type: origins({ max: 16 }),
    default: undefined,
    meaning: 'Origins whose web pages may read GET /v1/usage with the token of a tenant ([tenants.md](tenants.md#usage-for-the-tenant)).',
  }),
  adminPrometheusUrl: row({
    ...admin,
    name: 'ADMIN_PROMETHEUS_URL',
    type: textLike({
      pattern: /^https?:\/\/[^\s/?#@]+(?:\/[^\s?#]*)?$/,
      accepts: 'a URL without credentials and query, such as http://prometheus:9090',
    }),
    default: undefined,
    meaning:
      "Prometheus from which the console shows a tenant's usage over a day ([console.md](console.md#history)). Needs METRIC_TOP_KEYS.",
  }),

  workers: row({
    ...life,
    name: 'WORKERS',
    type: count({ max: 256 }),
    default: '1',
    meaning:
      'Serving processes on the same ports; `auto`: one per core, or one with the memory store. More than one needs Redis. Each counts as an instance in mode `local`, and has its own REDIS_IN_FLIGHT_MAX and METRIC_SERIES_MAX.',
  }),
  warmUp: row({
    ...life,
    name: 'WARM_UP',
    type: boolean(),
    default: 'true',
    meaning:
      'Run about a hundred internal requests before listening, for at most 0.3 s, so that the first answers are fast. They touch no bucket and no metric.',
  }),
  drainDelayMs: row({
    ...life,
    name: 'DRAIN_DELAY',
    type: duration({ min: '0s', max: '10m' }),
    default: '5s',
    meaning: "Time after SIGTERM in which Weir answers but reports NOT_SERVING. Set it longer than the proxies' health check interval.",
  }),
  drainTimeoutMs: row({
    ...life,
    name: 'DRAIN_TIMEOUT',
    type: duration({ min: '0s', max: '10m' }),
    default: '10s',
    meaning: 'Time after DRAIN_DELAY for calls in flight.',
  }),
};
