/** Every setting of Weir: its environment variable, type, default and meaning. */

import { ALGORITHMS, FAILURE_MODES, RESPONSE_HEADERS } from '../rule/limit';
import { boolean, count, decimal, duration, fileMode, integer, listenAddress, names, oneOf, pairs, port, ratio, spelled, tags, text, textLike, type SettingType } from './setting-types';

export const GROUPS = ['Listening', 'Configuration', 'Decisions', 'Answers', 'Store', 'Logs and metrics', 'Life cycle'] as const;

export interface SettingRow<T = unknown, Default extends string | undefined = string | undefined> {
  /** The environment variable. */
  readonly name: string;
  readonly group: (typeof GROUPS)[number];
  readonly type: SettingType<T>;
  /** As it would be written in the environment; undefined: unset, and the value is undefined too. */
  readonly default: Default;
  /** One or more sentences, for the documentation. */
  readonly meaning: string;
  /** Its value, even a bad one, is never shown. */
  readonly secret?: true;
}

/** Keeps a row's own types, so that Settings can be inferred from the table. */
function row<T, Default extends string | undefined>(setting: SettingRow<T, Default>): SettingRow<T, Default> {
  return setting;
}

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

/** No control characters, spaces, braces (they would move a key to another slot) or other bytes beyond ASCII. */
const KEY_PREFIX = /^(?!.*weir:)[!-z|~]+$/;

/** A name of certificates, without a wildcard. */
const DNS_NAME = /^(?=.{1,253}$)[a-z0-9_]([a-z0-9_-]*[a-z0-9])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9])?)*$/i;

/** Of an answer's header: not one of those that say how a message is sent. */
const ANSWER_HEADER_NAME = /^(?!(?:connection|content-length|host|keep-alive|te|trailer|transfer-encoding|upgrade)$)[!#$%&'*+.^_`|~0-9a-z-]{1,64}$/i;

/** A header that a caller may set, as HTTP/2 writes it: gRPC's own ones are not among them, nor those that say how a message is sent. */
const HEADER_NAME = /^(?!grpc-)(?!(?:connection|content-length|content-type|host|keep-alive|proxy-connection|te|trailer|transfer-encoding|upgrade)$)[0-9a-z_.-]+$/i;

/** What a header that is text may hold. */
const HEADER_VALUE = /^[ -~]*$/;

/** What a socket's address has room for, on every system. */
const SOCKET_PATH = /^[ -~]{1,103}$/;

const listening = { group: 'Listening' } as const;
const configuration = { group: 'Configuration' } as const;
const decisions = { group: 'Decisions' } as const;
const answers = { group: 'Answers' } as const;
const store = { group: 'Store' } as const;
const logs = { group: 'Logs and metrics' } as const;
const life = { group: 'Life cycle' } as const;

/** By the property of Settings: the variable's name in camelCase, with the unit last. */
export const SETTINGS_TABLE = {
  host: row({ ...listening, name: 'HOST', type: text('an address'), default: '0.0.0.0', meaning: 'Address of the HTTP port.' }),
  port: row({ ...listening, name: 'PORT', type: port(), default: '8080', meaning: 'HTTP port: `/json` and `/healthcheck`.' }),
  grpcHost: row({
    ...listening,
    name: 'GRPC_HOST',
    type: text('an address'),
    default: '0.0.0.0',
    meaning: 'Address of the gRPC port.',
  }),
  grpcPort: row({ ...listening, name: 'GRPC_PORT', type: port(), default: '8081', meaning: 'gRPC port, the one Envoy asks.' }),
  transport: row({
    ...listening,
    name: 'TRANSPORT',
    type: oneOf(['lean', 'grpc-js']),
    default: 'lean',
    meaning:
      "What speaks HTTP/2 on the gRPC port: Weir's own server (`lean`), which answers `ShouldRateLimit` at a fraction of the CPU time and has grpc-js answer every other call, or `grpc-js` alone.",
  }),
  grpcUds: row({
    ...listening,
    name: 'GRPC_UDS',
    type: textLike({ pattern: SOCKET_PATH, accepts: 'the path of a socket, of up to 103 ASCII characters' }),
    default: undefined,
    meaning:
      'Path of a unix socket that takes the place of GRPC_HOST and GRPC_PORT. A file that a dead process has left there is replaced; one on which somebody listens is not. It is removed at the end.',
  }),
  grpcUdsMode: row({
    ...listening,
    name: 'GRPC_UDS_MODE',
    type: fileMode(),
    default: '0660',
    meaning: 'Permissions of that socket. Whoever may write to it may connect: by default the user of Weir, and the group of the file.',
  }),
  grpcServerUseTls: row({
    ...listening,
    name: 'GRPC_SERVER_USE_TLS',
    type: boolean(),
    default: 'false',
    meaning: 'TLS (1.2 or newer, ALPN `h2`) on the gRPC port.',
  }),
  grpcServerTlsCert: row({
    ...listening,
    name: 'GRPC_SERVER_TLS_CERT',
    type: text('the path of a PEM file'),
    default: undefined,
    meaning: 'Certificate of the gRPC port, with what stands between it and its root. Changed files are taken for new connections within seconds; until they are whole and belong together, the last good ones stay.',
  }),
  grpcServerTlsKey: row({
    ...listening,
    name: 'GRPC_SERVER_TLS_KEY',
    type: text('the path of a PEM file'),
    default: undefined,
    meaning: 'Private key of GRPC_SERVER_TLS_CERT, without a passphrase.',
  }),
  grpcClientTlsCacert: row({
    ...listening,
    name: 'GRPC_CLIENT_TLS_CACERT',
    type: text('the path of a PEM file'),
    default: undefined,
    meaning: "Certificates of those that may have signed clients' certificates, and of nobody else: every client must then show one. Read anew as GRPC_SERVER_TLS_CERT is. Unset: clients need none.",
  }),
  grpcClientTlsSan: row({
    ...listening,
    name: 'GRPC_CLIENT_TLS_SAN',
    type: textLike({ pattern: DNS_NAME, accepts: 'a DNS name' }),
    default: undefined,
    meaning: "A DNS name that each client's certificate must carry as a subject alternative name. Needs GRPC_CLIENT_TLS_CACERT.",
  }),
  grpcMaxConcurrentStreams: row({
    ...listening,
    name: 'GRPC_MAX_CONCURRENT_STREAMS',
    type: integer({ min: 1, max: 1_000_000 }),
    default: '1024',
    meaning: 'Calls at once on one connection; the client is told, and opens no more.',
  }),
  grpcMaxConnectionAgeMs: row({
    ...listening,
    name: 'GRPC_MAX_CONNECTION_AGE',
    type: duration({ min: '0s', max: '480h' }),
    default: '24h',
    meaning: 'Age, give or take a tenth, at which a client is asked to connect anew, so that new instances get their part of the connections. 0: never.',
  }),
  grpcMaxConnectionAgeGraceMs: row({
    ...listening,
    name: 'GRPC_MAX_CONNECTION_AGE_GRACE',
    type: duration({ min: '1s', max: '480h' }),
    default: '1h',
    meaning: 'How long calls on a connection of that age may go on before it is closed.',
  }),
  grpcKeepaliveTimeMs: row({
    ...listening,
    name: 'GRPC_KEEPALIVE_TIME',
    type: duration({ min: '0s', max: '480h' }),
    default: '1m',
    meaning: 'A client that has said nothing for so long is sent a PING of HTTP/2 (with `TRANSPORT=grpc-js` every client is, each time so long has gone by). 0: never.',
  }),
  grpcKeepaliveTimeoutMs: row({
    ...listening,
    name: 'GRPC_KEEPALIVE_TIMEOUT',
    type: duration({ min: '1s', max: '1h' }),
    default: '20s',
    meaning: 'How long the client may take to answer it before its connection is closed.',
  }),
  debugHost: row({
    ...listening,
    name: 'DEBUG_HOST',
    type: text('an address'),
    default: '0.0.0.0',
    meaning: 'Address of the debug port.',
  }),
  debugPort: row({
    ...listening,
    name: 'DEBUG_PORT',
    type: port(),
    default: '6070',
    meaning: 'Debug port: the loaded rules and the state of the process.',
  }),

  configType: row({
    ...configuration,
    name: 'CONFIG_TYPE',
    type: oneOf(['FILE', 'GRPC_XDS_SOTW']),
    default: 'FILE',
    meaning: 'Where the configuration comes from: files, or a management server over xDS ([envoy-gateway.md](envoy-gateway.md)). With `--config`, files in any case.',
  }),
  runtimeRoot: row({
    ...configuration,
    name: 'RUNTIME_ROOT',
    type: text('a directory'),
    default: undefined,
    meaning:
      'First part of the configuration directory, RUNTIME_ROOT/RUNTIME_SUBDIRECTORY/RUNTIME_APPDIRECTORY: every .yaml and .yml file below it is read. ' +
      'Unset, it is `/srv/runtime_data/current`. Not used with `--config` or `CONFIG_TYPE=GRPC_XDS_SOTW`.',
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
      'Let several files configure one domain: their descriptors are taken together, in the order of the files\' paths. What a file says of the domain itself (`algorithm`, `failure_mode`, `hash_tag`), the first of them says.',
  }),
  runtimeWatchRoot: row({
    ...configuration,
    name: 'RUNTIME_WATCH_ROOT',
    type: boolean(),
    default: 'true',
    meaning:
      'If RUNTIME_ROOT is a symlink, read the configuration again when it is swapped, and only then. `false`, or a RUNTIME_ROOT that is no symlink: whenever a file below the configuration directory has changed.',
  }),
  forceStartWithoutInitialConfig: row({
    ...configuration,
    name: 'FORCE_START_WITHOUT_INITIAL_CONFIG',
    type: boolean(),
    default: 'false',
    meaning:
      'Have the health on although there was no good configuration yet, unless HEALTHY_WITH_AT_LEAST_ONE_CONFIG_LOADED is set. Calls are UNAVAILABLE until there is one. Not used with `--config`, without which Weir does not start.',
  }),
  healthyWithAtLeastOneConfigLoaded: row({
    ...configuration,
    name: 'HEALTHY_WITH_AT_LEAST_ONE_CONFIG_LOADED',
    type: boolean(),
    default: 'false',
    meaning: 'Keep the health off while the configuration in force is empty, and until there was a good one, also with FORCE_START_WITHOUT_INITIAL_CONFIG; without that it is off until then in any case.',
  }),

  configGrpcXdsServerUrl: row({
    ...configuration,
    name: 'CONFIG_GRPC_XDS_SERVER_URL',
    type: text('host:port'),
    default: 'localhost:18000',
    meaning: 'The management server that has the configuration, with `CONFIG_TYPE=GRPC_XDS_SOTW`, as the rest of these. Its name is looked up for each connection.',
  }),
  configGrpcXdsNodeId: row({
    ...configuration,
    name: 'CONFIG_GRPC_XDS_NODE_ID',
    type: text('a name'),
    default: 'default',
    meaning: 'Who Weir is to the management server, which chooses the configuration by it.',
  }),
  configGrpcXdsNodeMetadata: row({
    ...configuration,
    name: 'CONFIG_GRPC_XDS_NODE_METADATA',
    type: pairs({ separator: '=', names: /./, accepts: 'name=value,name=value' }),
    default: undefined,
    meaning: 'What else the management server is told of this node.',
  }),
  configGrpcXdsClientAdditionalHeaders: row({
    ...configuration,
    name: 'CONFIG_GRPC_XDS_CLIENT_ADDITIONAL_HEADERS',
    type: pairs({ separator: ':', names: HEADER_NAME, values: HEADER_VALUE, accepts: 'name:value,name:value in ASCII' }),
    default: undefined,
    secret: true,
    meaning: 'Headers that are sent to the management server.',
  }),
  configGrpcXdsServerUseTls: row({
    ...configuration,
    name: 'CONFIG_GRPC_XDS_SERVER_USE_TLS',
    type: boolean(),
    default: 'false',
    meaning: 'TLS towards the management server.',
  }),
  configGrpcXdsClientTlsCert: row({
    ...configuration,
    name: 'CONFIG_GRPC_XDS_CLIENT_TLS_CERT',
    type: text('the path of a PEM file'),
    default: undefined,
    meaning: 'Certificate that Weir shows to the management server, with what stands between it and its root. Needs CONFIG_GRPC_XDS_CLIENT_TLS_KEY. Read for each connection, as the key and the authorities are.',
  }),
  configGrpcXdsClientTlsKey: row({
    ...configuration,
    name: 'CONFIG_GRPC_XDS_CLIENT_TLS_KEY',
    type: text('the path of a PEM file'),
    default: undefined,
    meaning: 'Private key of CONFIG_GRPC_XDS_CLIENT_TLS_CERT, without a passphrase.',
  }),
  configGrpcXdsServerTlsCacert: row({
    ...configuration,
    name: 'CONFIG_GRPC_XDS_SERVER_TLS_CACERT',
    type: text('the path of a PEM file'),
    default: undefined,
    meaning: "Certificates of those that may have signed the management server's, and of nobody else. Unset: those that Node trusts.",
  }),
  configGrpcXdsServerTlsSan: row({
    ...configuration,
    name: 'CONFIG_GRPC_XDS_SERVER_TLS_SAN',
    type: textLike({ pattern: DNS_NAME, accepts: 'a DNS name' }),
    default: undefined,
    meaning: "The name that the management server's certificate must carry. Unset: the host of CONFIG_GRPC_XDS_SERVER_URL.",
  }),
  configGrpcXdsServerConnectRetryIntervalMs: row({
    ...configuration,
    name: 'CONFIG_GRPC_XDS_SERVER_CONNECT_RETRY_INTERVAL',
    type: duration({ min: '10ms', max: '10m' }),
    default: '3s',
    meaning: 'The wait after a first connection to the management server that did not come about. Each further one is XDS_CLIENT_BACKOFF_RANDOM_FACTOR times as long.',
  }),
  xdsClientBackoffInitialIntervalMs: row({
    ...configuration,
    name: 'XDS_CLIENT_BACKOFF_INITIAL_INTERVAL',
    type: duration({ min: '10ms', max: '10m' }),
    default: '10s',
    meaning: 'The same after a connection or stream that was there and ended. What lasted longer than XDS_CLIENT_BACKOFF_MAX_INTERVAL begins anew.',
  }),
  xdsClientBackoffMaxIntervalMs: row({
    ...configuration,
    name: 'XDS_CLIENT_BACKOFF_MAX_INTERVAL',
    type: duration({ min: '10ms', max: '1h' }),
    default: '60s',
    meaning: 'The longest of these waits.',
  }),
  xdsClientBackoffRandomFactor: row({
    ...configuration,
    name: 'XDS_CLIENT_BACKOFF_RANDOM_FACTOR',
    type: decimal({ min: 0, max: 10 }),
    default: '2',
    meaning: 'How many times the wait before it each wait is. With less than 1 (envoyproxy/ratelimit has 0.5) they would never grow: that counts as 2.',
  }),
  xdsClientBackoffJitter: row({
    ...configuration,
    name: 'XDS_CLIENT_BACKOFF_JITTER',
    type: boolean(),
    default: 'true',
    meaning: 'Draw each wait from the upper half of its length, so that instances do not come all at once.',
  }),
  xdsClientMaxMsgSizeInBytes: row({
    ...configuration,
    name: 'XDS_CLIENT_MAX_MSG_SIZE_IN_BYTES',
    type: integer({ min: 0, max: 1_073_741_824 }),
    default: '0',
    meaning: 'The longest message that is taken of a management server. 0: 4 MiB.',
  }),
  xdsClientKeepaliveTimeMs: row({
    ...configuration,
    name: 'XDS_CLIENT_KEEPALIVE_TIME',
    type: duration({ min: '1s', max: '480h' }),
    default: '5m30s',
    meaning: 'A management server is sent a PING of HTTP/2 each time so long has gone by. Servers in Go, as that of Envoy Gateway, end connections on which these come more often than every 5 minutes, unless told otherwise.',
  }),
  xdsClientKeepaliveTimeoutMs: row({
    ...configuration,
    name: 'XDS_CLIENT_KEEPALIVE_TIMEOUT',
    type: duration({ min: '100ms', max: '1h' }),
    default: '20s',
    meaning: 'How long it may take to answer before the connection is given up for a new one.',
  }),

  defaultAlgorithm: row({
    ...decisions,
    name: 'DEFAULT_ALGORITHM',
    type: oneOf(ALGORITHMS),
    default: undefined,
    meaning:
      'How limits count where neither they nor their domain say. Unset: `token_bucket` with `--config`, else `fixed_window`, as envoyproxy/ratelimit counts.',
  }),
  defaultOverdraft: row({
    ...decisions,
    name: 'DEFAULT_OVERDRAFT',
    type: boolean(),
    default: undefined,
    meaning:
      "Charge a descriptor's own hits in full, also past the limit, where neither the limit nor its domain says `overdraft:` ([usage-limits.md](usage-limits.md)). Unset: `false` with `--config`, else `true`, as envoyproxy/ratelimit charges them.",
  }),
  useCalendarMonthRateLimit: row({
    ...decisions,
    name: 'USE_CALENDAR_MONTH_RATE_LIMIT',
    type: boolean(),
    default: 'false',
    meaning: 'Count `unit: month` of limits that are in `fixed_window` by the months of the calendar in UTC, not by 30 days. Limits in other algorithms (with `--config` all that do not say) keep 30 days, with a warning.',
  }),
  nearLimitRatio: row({
    ...decisions,
    name: 'NEAR_LIMIT_RATIO',
    type: ratio(),
    default: '0.8',
    meaning: 'Hits above this part of a limit count as near the limit in the metrics.',
  }),
  shadowMode: row({
    ...decisions,
    name: 'SHADOW_MODE',
    type: boolean(),
    default: 'false',
    meaning: 'Count and report everything, deny nothing.',
  }),
  quotaMode: row({
    ...decisions,
    name: 'QUOTA_MODE',
    type: boolean(),
    default: 'false',
    meaning: 'Treat every descriptor as one with `quota_mode: true`: a request is denied only if all of its descriptors are over their limits.',
  }),

  responseHeaders: row({
    ...answers,
    name: 'RESPONSE_HEADERS',
    type: oneOf(RESPONSE_HEADERS),
    default: undefined,
    meaning:
      "Headers about limits in the client's response: none (`off`), the three of envoyproxy/ratelimit (`reference`), or `RateLimit-Policy` and `RateLimit` of the IETF's draft 11, which list every limit (`ietf`). Wins over LIMIT_RESPONSE_HEADERS_ENABLED; `response_headers` in the configuration wins over both. See [headers.md](headers.md).",
  }),
  limitResponseHeadersEnabled: row({
    ...answers,
    name: 'LIMIT_RESPONSE_HEADERS_ENABLED',
    type: boolean(),
    default: 'false',
    meaning: 'The same as RESPONSE_HEADERS=reference.',
  }),
  limitLimitHeader: row({
    ...answers,
    name: 'LIMIT_LIMIT_HEADER',
    type: textLike({ pattern: ANSWER_HEADER_NAME, accepts: 'the name of a header' }),
    default: 'RateLimit-Limit',
    meaning: 'Name of the `reference` header with `requests_per_unit`.',
  }),
  limitRemainingHeader: row({
    ...answers,
    name: 'LIMIT_REMAINING_HEADER',
    type: textLike({ pattern: ANSWER_HEADER_NAME, accepts: 'the name of a header' }),
    default: 'RateLimit-Remaining',
    meaning: 'Name of the `reference` header with the hits left.',
  }),
  limitResetHeader: row({
    ...answers,
    name: 'LIMIT_RESET_HEADER',
    type: textLike({ pattern: ANSWER_HEADER_NAME, accepts: 'the name of a header' }),
    default: 'RateLimit-Reset',
    meaning: 'Name of the `reference` header with the seconds until the limit is reset, rounded up.',
  }),
  retryAfterEnabled: row({
    ...answers,
    name: 'RETRY_AFTER_ENABLED',
    type: boolean(),
    default: undefined,
    meaning: '`Retry-After` on every response that is denied: whole seconds, rounded up, until the same request would pass. Unset: only if a limit that denies is shown by `ietf` headers.',
  }),
  responseDynamicMetadata: row({
    ...answers,
    name: 'RESPONSE_DYNAMIC_METADATA',
    type: boolean(),
    default: 'false',
    meaning: 'Repeat the request in the dynamic metadata of the answer, with the `metadata` of the rules that matched: `domain`, `descriptors`, `hitsAddend`, `metadata`. A text is cut at 1 KiB, all of them at 32 KiB.',
  }),
  responseDecisionMetadata: row({
    ...answers,
    name: 'RESPONSE_DECISION_METADATA',
    type: boolean(),
    default: 'false',
    meaning:
      "Say in the dynamic metadata of the answer, under `decision`, why it is what it is: the generation of the rules, the rules that denied, and of each descriptor its rule, limit, code, what remains and the milliseconds until it is reset. For Envoy's access log.",
  }),

  backendType: row({
    ...store,
    name: 'BACKEND_TYPE',
    type: oneOf(['redis', 'memory'], { refused: { memcache: NO_MEMCACHED } }),
    default: undefined,
    meaning:
      'Where hits are counted: in Redis, shared by all instances, or in the memory of this one. Unset: redis if REDIS_URL is set, else memory, which is refused when RUNTIME_ROOT is set.',
  }),
  redisUrl: row({
    ...store,
    name: 'REDIS_URL',
    type: text('a host:port, the path of a socket, a redis:// or rediss:// URL, host1:6379,host2:6379 of a cluster, or NAME,host1:26379,host2:26379'),
    default: undefined,
    secret: true,
    meaning:
      'The Redis server: `host:port` (with REDIS_SOCKET_TYPE=tcp), the path of a unix socket, or a `redis://` or `rediss://` URL; with REDIS_TYPE=sentinel, the name of the master and the sentinels, `NAME,host1:26379,host2:26379`; with REDIS_TYPE=cluster, some of its nodes, `host1:6379,host2:6379`. Unset with BACKEND_TYPE=redis: the socket `/var/run/nutcracker/ratelimit.sock`.',
  }),
  redisType: row({
    ...store,
    name: 'REDIS_TYPE',
    type: oneOf(['single', 'sentinel', 'cluster']),
    default: 'single',
    meaning: 'One Redis server, the primary that the sentinels of REDIS_URL name, or a Redis Cluster.',
  }),
  redisSocketType: row({
    ...store,
    name: 'REDIS_SOCKET_TYPE',
    type: oneOf(['unix', 'tcp']),
    default: 'unix',
    meaning: 'How to read a REDIS_URL that is no URL: as the path of a unix socket, or as `host:port`.',
  }),
  redisAuth: row({
    ...store,
    name: 'REDIS_AUTH',
    type: text('a password, or user:password'),
    default: undefined,
    secret: true,
    meaning: 'Password of the Redis server, or `user:password`. Wins over what REDIS_URL holds.',
  }),
  redisAuthFile: row({
    ...store,
    name: 'REDIS_AUTH_FILE',
    type: text('the path of a file'),
    default: undefined,
    meaning: 'File that holds what REDIS_AUTH would. Read for every new connection, so that the password may change while Weir runs.',
  }),
  redisSentinelAuth: row({
    ...store,
    name: 'REDIS_SENTINEL_AUTH',
    type: text('a password, or user:password'),
    default: undefined,
    secret: true,
    meaning: 'Password of the sentinels, or `user:password`. REDIS_AUTH is for the servers that they watch.',
  }),
  redisTls: row({
    ...store,
    name: 'REDIS_TLS',
    type: boolean(),
    default: 'false',
    meaning: 'Connect to Redis, and to sentinels, over TLS. A `rediss://` URL does so in any case.',
  }),
  redisTlsClientCert: row({
    ...store,
    name: 'REDIS_TLS_CLIENT_CERT',
    type: text('the path of a PEM file'),
    default: undefined,
    meaning: 'Certificate that Weir shows to Redis, with what stands between it and its root. Needs REDIS_TLS_CLIENT_KEY. Read at the start.',
  }),
  redisTlsClientKey: row({
    ...store,
    name: 'REDIS_TLS_CLIENT_KEY',
    type: text('the path of a PEM file'),
    default: undefined,
    meaning: 'Private key of REDIS_TLS_CLIENT_CERT, without a passphrase. Read at the start.',
  }),
  redisTlsCacert: row({
    ...store,
    name: 'REDIS_TLS_CACERT',
    type: text('the path of a PEM file'),
    default: undefined,
    meaning: "Certificates of those that may have signed Redis's, and of nobody else. Unset: those that Node trusts. Read at the start.",
  }),
  redisTlsSkipHostnameVerification: row({
    ...store,
    name: 'REDIS_TLS_SKIP_HOSTNAME_VERIFICATION',
    type: boolean(),
    default: 'false',
    meaning: "Accept a certificate of Redis's that names another host. Who signed it is still verified.",
  }),
  redisPersecond: row({
    ...store,
    name: 'REDIS_PERSECOND',
    type: boolean(),
    default: 'false',
    meaning: 'Count limits of one second in a Redis of their own. The certificates of REDIS_TLS_… are for both.',
  }),
  redisPersecondUrl: row({
    ...store,
    name: 'REDIS_PERSECOND_URL',
    type: text('what REDIS_URL takes'),
    default: undefined,
    secret: true,
    meaning: 'The Redis for limits of one second, as REDIS_URL. Unset: the socket `/var/run/nutcracker/ratelimitpersecond.sock`.',
  }),
  redisPersecondType: row({
    ...store,
    name: 'REDIS_PERSECOND_TYPE',
    type: oneOf(['single', 'sentinel', 'cluster']),
    default: 'single',
    meaning: 'As REDIS_TYPE, for limits of one second.',
  }),
  redisPersecondSocketType: row({
    ...store,
    name: 'REDIS_PERSECOND_SOCKET_TYPE',
    type: oneOf(['unix', 'tcp']),
    default: 'unix',
    meaning: 'As REDIS_SOCKET_TYPE, for limits of one second.',
  }),
  redisPersecondAuth: row({
    ...store,
    name: 'REDIS_PERSECOND_AUTH',
    type: text('a password, or user:password'),
    default: undefined,
    secret: true,
    meaning: 'As REDIS_AUTH, for limits of one second.',
  }),
  redisPersecondAuthFile: row({
    ...store,
    name: 'REDIS_PERSECOND_AUTH_FILE',
    type: text('the path of a file'),
    default: undefined,
    meaning: 'As REDIS_AUTH_FILE, for limits of one second.',
  }),
  redisPersecondSentinelAuth: row({
    ...store,
    name: 'REDIS_PERSECOND_SENTINEL_AUTH',
    type: text('a password, or user:password'),
    default: undefined,
    secret: true,
    meaning: 'As REDIS_SENTINEL_AUTH, for limits of one second.',
  }),
  redisPersecondTls: row({
    ...store,
    name: 'REDIS_PERSECOND_TLS',
    type: boolean(),
    default: 'false',
    meaning: 'As REDIS_TLS, for limits of one second.',
  }),
  redisOpTimeoutMs: row({
    ...store,
    name: 'REDIS_OP_TIMEOUT',
    type: duration({ min: '1ms', max: '1s' }),
    default: '5ms',
    meaning: 'How long one command to Redis may take before the requests that it decides are answered without it.',
  }),
  redisConnectTimeoutMs: row({
    ...store,
    name: 'REDIS_CONNECT_TIMEOUT',
    type: duration({ min: '1ms', max: '1m' }),
    default: '1s',
    meaning: 'How long one attempt to connect to Redis may take.',
  }),
  redisInFlightMax: row({
    ...store,
    name: 'REDIS_IN_FLIGHT_MAX',
    type: integer({ min: 1, max: 1_000_000 }),
    default: '10000',
    meaning: 'Calls that may wait for a Redis server at once; beyond it a request is answered UNAVAILABLE at once.',
  }),
  denyCacheMax: row({
    ...store,
    name: 'DENY_CACHE_MAX',
    type: integer({ min: 0, max: 1_000_000 }),
    default: '10000',
    meaning: 'Buckets whose denials are remembered, each until the hits would fit again and at most for a second: the same hits are denied without asking Redis. 0 turns it off.',
  }),
  redisBreakerFailures: row({
    ...store,
    name: 'REDIS_BREAKER_FAILURES',
    type: integer({ min: 1, max: 1000 }),
    default: '5',
    meaning: 'Commands to Redis that fail in a row, however many requests each decides, within REDIS_BREAKER_WINDOW, before Redis is not asked any more.',
  }),
  redisBreakerWindowMs: row({
    ...store,
    name: 'REDIS_BREAKER_WINDOW',
    type: duration({ min: '10ms', max: '10m' }),
    default: '10s',
    meaning: 'How old the first of those failures may be.',
  }),
  redisBreakerOpenMs: row({
    ...store,
    name: 'REDIS_BREAKER_OPEN',
    type: duration({ min: '10ms', max: '10m' }),
    default: '30s',
    meaning: 'How long Redis is then not asked before one call tries; while it answers errors one tries every second. A new connection, or a PING (every second) or heartbeat (every 5 s) that is answered in time, ends the wait at once.',
  }),
  failureMode: row({
    ...store,
    name: 'FAILURE_MODE',
    type: oneOf(FAILURE_MODES),
    default: 'local',
    meaning:
      'What decides while Redis does not, for limits that do not say `failure_mode`: `local` (this process, by its share of the limit), `open` (all pass), `closed` (none does), `unavailable` (nobody: Envoy goes by its failure_mode_deny).',
  }),
  failureModeInstances: row({
    ...store,
    name: 'FAILURE_MODE_INSTANCES',
    type: integer({ min: 1, max: 1000 }),
    default: '1',
    meaning: 'How many instances share a limit in mode `local` as long as Redis has not been there to count them.',
  }),
  cacheKeyPrefix: row({
    ...store,
    name: 'CACHE_KEY_PREFIX',
    type: textLike({ pattern: KEY_PREFIX, accepts: 'printable ASCII without spaces, without { and }, and without weir:' }),
    default: '',
    meaning: 'Put before every key in Redis, so that several installations can share a server.',
  }),
  memoryBucketsMax: row({
    ...store,
    name: 'MEMORY_BUCKETS_MAX',
    type: integer({ min: 1, max: 10_000_000 }),
    default: '1000000',
    meaning:
      'Buckets that the memory store keeps; beyond it the least recently used goes first. A bucket takes 40 bytes and those of its key from the first value on, 300 at most; one of sliding_window_log up to 84 more for each hit.',
  }),

  logLevel: row({
    ...logs,
    name: 'LOG_LEVEL',
    type: spelled(LOG_LEVELS),
    default: 'info',
    meaning: 'The least severe messages to log. `warning` is `warn`, `panic` is `fatal`. What grpc-js says by itself is told as the rest is; what `GRPC_TRACE` and `GRPC_VERBOSITY` ask of it, at `debug`.',
  }),
  logFormat: row({ ...logs, name: 'LOG_FORMAT', type: oneOf(['text', 'json']), default: 'text', meaning: 'Form of each log line.' }),
  metricSeriesMax: row({
    ...logs,
    name: 'METRIC_SERIES_MAX',
    type: integer({ min: 1, max: 1_000_000 }),
    default: '10000',
    meaning: 'Rules with metrics of their own; the rest count under `other`. At most half of them may have in their names what callers sent (`detailed_metric`, `value_to_metric`, keys of an override).',
  }),
  sanitizeDescriptorMetricDots: row({
    ...logs,
    name: 'SANITIZE_DESCRIPTOR_METRIC_DOTS',
    type: boolean(),
    default: 'false',
    meaning: 'Write `_` for each dot of a descriptor in the metrics of its rule, so that each level is one level of a statsd name. Those of IPv4 addresses are written so in any case.',
  }),
  extraTags: row({
    ...logs,
    name: 'EXTRA_TAGS',
    type: tags(),
    default: undefined,
    meaning: 'On every metric, as `region:eu,cluster:blue`: labels for Prometheus (what is no letter, digit or `_` in a name becomes `_`), tags for dogstatsd, and for statsd the end of the name, `.__cluster=blue.__region=eu`.',
  }),
  usePrometheus: row({
    ...logs,
    name: 'USE_PROMETHEUS',
    type: boolean(),
    default: 'false',
    meaning: 'Serve the metrics at PROMETHEUS_ADDR too. They are at `/metrics` on DEBUG_PORT in any case.',
  }),
  prometheusAddr: row({
    ...logs,
    name: 'PROMETHEUS_ADDR',
    type: listenAddress(),
    default: ':9090',
    meaning: 'Where, with USE_PROMETHEUS; without a host, on every address.',
  }),
  prometheusPath: row({
    ...logs,
    name: 'PROMETHEUS_PATH',
    type: textLike({ pattern: /^\/[!-~]{0,255}$/, accepts: 'a path that begins with a slash' }),
    default: '/metrics',
    meaning: 'The path there.',
  }),
  useStatsd: row({
    ...logs,
    name: 'USE_STATSD',
    type: boolean(),
    default: undefined,
    meaning: 'Tell a statsd server what the metrics say ([metrics.md](metrics.md)). Unset: only if STATSD_HOST, STATSD_PORT or STATSD_PROTOCOL is set, and USE_DOG_STATSD is not.',
  }),
  useDogStatsd: row({
    ...logs,
    name: 'USE_DOG_STATSD',
    type: boolean(),
    default: 'false',
    meaning: 'The same for a dogstatsd server, over UDP, with tags.',
  }),
  useDogStatsdMogrifiers: row({
    ...logs,
    name: 'USE_DOG_STATSD_MOGRIFIERS',
    type: names({ max: 32 }),
    default: undefined,
    meaning:
      "Names of patterns for USE_DOG_STATSD, as `A,B`: for each, DOG_STATSD_MOGRIFIER_A_PATTERN (a regular expression as Go writes them, up to 1024 characters), DOG_STATSD_MOGRIFIER_A_NAME and, as EXTRA_TAGS is written, DOG_STATSD_MOGRIFIER_A_TAGS. The first whose pattern is found in the name of a metric gives it another, and tags: `$1` stands for what the pattern's first group matched.",
  }),
  statsdHost: row({ ...logs, name: 'STATSD_HOST', type: text('a host name or an address'), default: undefined, meaning: 'The statsd or dogstatsd server. Unset: `localhost`.' }),
  statsdPort: row({ ...logs, name: 'STATSD_PORT', type: integer({ min: 1, max: 65_535 }), default: undefined, meaning: 'Its port. Unset: `8125`.' }),
  statsdProtocol: row({
    ...logs,
    name: 'STATSD_PROTOCOL',
    type: oneOf(['tcp', 'udp']),
    default: undefined,
    meaning: 'How to reach the statsd server. Unset: `tcp`. A dogstatsd server is reached over UDP.',
  }),
  statsFlushIntervalMs: row({
    ...logs,
    name: 'STATS_FLUSH_INTERVAL',
    type: duration({ min: '100ms', max: '1h' }),
    default: '10s',
    meaning: 'How often it is told.',
  }),
  disableStats: row({
    ...logs,
    name: 'DISABLE_STATS',
    type: boolean(),
    default: 'false',
    meaning: 'Tell no server, whatever else is set, and do not listen at PROMETHEUS_ADDR.',
  }),

  workers: row({
    ...life,
    name: 'WORKERS',
    type: count({ max: 256 }),
    default: '1',
    meaning:
      'Processes that serve, on the same ports; `auto`: one for each core. More than one needs Redis. Each is an instance in mode `local`, and has its own REDIS_IN_FLIGHT_MAX and METRIC_SERIES_MAX.',
  }),
  warmUp: row({
    ...life,
    name: 'WARM_UP',
    type: boolean(),
    default: 'true',
    meaning: 'Run some thousand requests of its own before it listens, for a fifth of a second at most, so that the first answers are in time. They touch no bucket and no metric.',
  }),
  drainDelayMs: row({
    ...life,
    name: 'DRAIN_DELAY',
    type: duration({ min: '0s', max: '10m' }),
    default: '5s',
    meaning:
      'How long everything is still answered after SIGTERM, but with the health off: time for proxies to go elsewhere before connections are refused. Longer than the interval of their health checks.',
  }),
  drainTimeoutMs: row({
    ...life,
    name: 'DRAIN_TIMEOUT',
    type: duration({ min: '0s', max: '10m' }),
    default: '10s',
    meaning: 'How long calls in flight may take to finish after that.',
  }),
};
