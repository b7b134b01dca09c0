/** The kinds of log lines: each line has the code of its kind, and fields with the values in its sentence, for programs that read the log as JSON. */

/** By code: when a line of this kind is logged. */
export const LOG_EVENTS = {
  admin_ended: 'the thread of the admin API ended and starts again: `waitMs`; decisions go on',
  admin_error: 'a bug of Weir made an admin request fail; once a minute for each operation',
  admin_file_loaded: 'changed tokens, keys or certificates of the admin API are in use',
  admin_file_refused: 'changed tokens, keys or certificates of the admin API are invalid; the old ones stay in use',
  admin_listening: 'the admin API is open: `port`',
  breaker_closed: 'the breaker of a Redis server closed: `address`, `awayMs`, and `decisions` and `hits` without Redis',
  breaker_opened: 'the breaker of a Redis server opened: `address`, `error`; a line with `times` and `awayMs` sums up several',
  bucket_undecided: 'Redis cannot decide on a bucket: `error`, `keys`',
  buckets_forgotten: 'the memory store is full and evicts used buckets',
  certificate_ended: 'a certificate in use has ended: `setting`, `end`',
  certificates_loaded: 'changed certificates of the gRPC port are in use',
  certificates_refused: 'changed certificates of the gRPC port are invalid: `error`',
  config_loaded: 'a configuration is in force: `generation`, `domains`',
  config_problem: 'a problem of a rejected configuration: `file`, `line` (0: the whole file), `column`, `path`, `error`',
  config_refused: 'a configuration was rejected: `problems` is their number, `generation` what stays in force',
  config_source_trouble: 'the files of the configuration cannot be read or watched, or take seconds to read',
  config_warning: 'a warning of `weir check` about the configuration in force',
  connection_refused:
    'the port or the process is at its limit, so an idle connection of an HTTP port, otherwise the new one, was closed; once a minute for each reason',
  console_missing: 'the build has no console, which ADMIN_CONSOLE asks for',
  control_lost: 'Redis lost control data: `records` that this instance keeps in force, `missing` that Redis lacks',
  control_memory: 'control data are in memory, and lost when Weir ends',
  control_off: 'rules have tenants, penalties or guards of rollouts, without effect while control data are off',
  control_stale: 'Redis does not answer for control data; the last known stay in force: `error`; once a minute',
  control_synced: 'control data are up to date again',
  control_refused: 'CONTROL_FILE could not be written, so a write was refused: `error`; once a minute',
  control_torn: 'the incomplete last line of CONTROL_FILE was dropped: `bytes`',
  control_unreadable: 'a record of control data cannot be read, and has no effect: `record`, `error`; once a minute',
  control_write_without_effect: 'a write of control data has no effect, or only a part of it: `author`, `subject`, `codes` of the warnings',
  decision_log_lost:
    'the decision log cannot be written, or not fast enough, and loses lines when its queue is full: `path`, `error`; once a minute',
  decision_log_written: 'the decision log is written again: `path`, `awayMs`, `lost` (lines)',
  default_algorithm: 'the algorithm of limits that name none: `algorithm`',
  default_overdraft: 'DEFAULT_OVERDRAFT is unset, so the hits of a descriptor are charged past the limit',
  domain_not_found: 'a request names an unknown domain, and passes: `domain`, `requests`; once a minute',
  drained: 'the drain is complete',
  draining: 'the drain began: `signal`, or `drain` by the parent process',
  events_failed: 'an event is tried again: `error`; once a minute',
  events_given_up: 'an event was given up: `error`; once a minute',
  events_lost: 'Redis lost its events: `events`',
  events_outbox_failed: 'Redis refuses events: `error`; once a minute',
  example_served: 'nothing says where the configuration is, so the image serves its example: `path`',
  failure_mode_file_ignored:
    'FAILURE_MODE_FILE cannot be read or written, and a restart may renew local shares: `path`; once until it is written again',
  failure_mode_file_read: 'the local shares of the process before go on: `path`, `buckets`',
  failure_mode_instances: 'FAILURE_MODE_INSTANCES is 1 although limits are counted in Redis',
  grpc_connection_ended: 'Weir ended a connection to the gRPC port: `reason`; once a minute for each reason',
  grpc_js: 'a message of the library grpc-js',
  heartbeat_refused: 'Redis rejects the heartbeat that counts instances: `address`, `error`',
  hits_lost: 'Redis may never count hits admitted without it: `hits` since the start, `reason`',
  fair_failed: 'the demand of members was not counted or read, so limits with fair are not divided: `error`; once a minute',
  internal_error: 'an internal error of Weir: `err` has type, message and stack; once a minute for each kind',
  listening: 'the ports are open: `version`, `domains`, `grpc`, `http`, `debug`, `workers`',
  metrics_listening: 'the port of PROMETHEUS_ADDR is open: `port`, `path`',
  open_files_limit: 'the limit on open files reduces the accepted connections: `filesMax`, `filesWanted`',
  penalty_failed: 'denials under a penalty were not counted, or a block was not written: `error`; once a minute',
  plan_not_found: 'a tenant has an unknown plan, so the default plan applies: `domain`, `plan`, `decisions`; once a minute',
  redis_auth_file: 'REDIS_AUTH_FILE cannot be read: `address`, `error`',
  redis_connected: 'Redis is connected: `address`; after an outage also `awayMs`, `decisions` and `hits`',
  redis_credentials: 'an open connection to Redis got another token again, or with `error` none, and Weir tries again: `address`',
  redis_engine: 'Weir adapts to the engine of a Redis server, or a setting should: `address`, `engine`, `version`; once for each finding',
  redis_evicts: 'Redis may evict buckets: `address`, `policy`; or it has: `address`, `keys`, once a minute',
  redis_lost: 'Redis is unreachable or rejects the connection: `address`, `error`; a line with `times` and `awayMs` sums up several',
  redis_tls_files: 'the certificates for Redis were read again; with `error` they cannot be used, and those before stay: `address`',
  rollout_failed: 'hits of rollouts were not counted, or one was not taken back: `error`; once a minute',
  rollout_stopped: 'a guard took a rollout back: `domain`, `rule`, `reason`; one process of all says it',
  setting_warning: 'an environment variable has no effect, or is not a setting',
  statsd_failed: 'metrics could not be sent to statsd',
  statsd_started: 'metrics are sent to statsd: `address`, `intervalMs`',
  top_keys_unpublished: 'this process does not publish its top keys: `error`',
  traces_lost: 'the receiver of traces does not accept spans: `address`, `error`; once a minute',
  traces_sent: 'the receiver of traces accepts spans again: `address`, `awayMs`',
  traces_started: 'spans are sent to a receiver: `address`, `protocol`, `ratio`',
  traces_warning: 'a warning of the packages of OpenTelemetry; once a minute',
  warmed_up: 'the warm-up is complete: `calls`, `durationMs`',
  worker_ended: 'a worker ended and will be restarted: `waitMs`',
  worker_start_failed: 'a worker ended before it served: `exitCode`',
  xds_connected: 'the management server is connected: `address`',
  xds_lost: 'the management server is unreachable or rejects the stream: `address`, `error`, `waitMs`',
  xds_waiting: 'the management server has sent no configuration yet: `address`, `node`',
} as const;

export type LogCode = keyof typeof LOG_EVENTS;

export interface LogEvent {
  readonly code: LogCode;
  readonly [field: string]: unknown;
}

/** The code and fields of a log line, passed before its sentence. */
export function event(code: LogCode, fields: Readonly<Record<string, unknown>> = {}): LogEvent {
  return { code, ...fields };
}
