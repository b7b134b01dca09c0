/** The environment becomes typed settings, or one error that names every bad value. */

import { NO_BODY } from '../../../src/domain/rule/body/response-body';
import { readSettings, type Environment } from '../../../src/configuration/settings/table/settings';
import { SettingsError } from '../../../src/configuration/settings/table/settings-error';

function problemsOf(env: Environment): string[] {
  try {
    readSettings(env);
  } catch (error) {
    if (error instanceof SettingsError) return error.message.split('\n');
    throw error;
  }
  return [];
}

describe('Settings', () => {
  test('settings have their defaults in an empty environment', () => {
    expect(readSettings({})).toEqual({
      host: '0.0.0.0',
      port: 8080,
      jsonEnabled: true,
      jsonRefundsEnabled: true,
      leases: 'off',
      httpReservationsEnabled: true,
      checkTrustedHops: 0,
      grpcHost: '0.0.0.0',
      grpcPort: 8081,
      grpcUds: undefined,
      grpcUdsMode: 0o660,
      grpcServerUseTls: false,
      grpcServerTlsCert: undefined,
      grpcServerTlsKey: undefined,
      grpcClientTlsCacert: undefined,
      grpcClientTlsSan: undefined,
      grpcMaxConcurrentStreams: 1024,
      grpcMaxConnectionAgeMs: 86_400_000,
      grpcMaxConnectionAgeGraceMs: 3_600_000,
      grpcKeepaliveTimeMs: 60_000,
      grpcKeepaliveTimeoutMs: 20_000,
      transport: 'lean',
      adminPort: undefined,
      adminHost: '127.0.0.1',
      adminAuth: 'required',
      adminTokensFile: undefined,
      adminJwtJwksFile: undefined,
      adminJwtIssuer: undefined,
      adminJwtAudience: undefined,
      adminJwtRoleClaim: 'role',
      adminTlsCert: undefined,
      adminTlsKey: undefined,
      adminTlsClientCacert: undefined,
      adminFailedTriesMax: 10,
      adminConsole: true,
      adminBodyBytesMax: 65_536,
      adminPageMax: 200,
      adminStreamsMax: 8,
      workers: 1,
      debugHost: '0.0.0.0',
      debugPort: 6070,
      configType: 'FILE',
      runtimeRoot: undefined,
      runtimeSubdirectory: '',
      runtimeAppdirectory: 'config',
      mergeDomainConfig: false,
      runtimeWatchRoot: true,
      forceStartWithoutInitialConfig: false,
      healthyWithAtLeastOneConfigLoaded: false,
      configGrpcXdsServerUrl: 'localhost:18000',
      configGrpcXdsNodeId: 'default',
      configGrpcXdsNodeMetadata: undefined,
      configGrpcXdsClientAdditionalHeaders: undefined,
      configGrpcXdsServerUseTls: false,
      configGrpcXdsClientTlsCert: undefined,
      configGrpcXdsClientTlsKey: undefined,
      configGrpcXdsServerTlsCacert: undefined,
      configGrpcXdsServerTlsSan: undefined,
      configGrpcXdsServerConnectRetryIntervalMs: 3000,
      xdsClientBackoffInitialIntervalMs: 10_000,
      xdsClientBackoffMaxIntervalMs: 60_000,
      xdsClientBackoffRandomFactor: 2,
      xdsClientBackoffJitter: true,
      xdsClientMaxMsgSizeInBytes: 0,
      xdsClientKeepaliveTimeMs: 330_000,
      xdsClientKeepaliveTimeoutMs: 20_000,
      defaultAlgorithm: undefined,
      useCalendarMonthRateLimit: false,
      nearLimitRatio: 0.8,
      shadowMode: false,
      quotaMode: false,
      responseHeaders: undefined,
      limitResponseHeadersEnabled: false,
      limitLimitHeader: 'RateLimit-Limit',
      limitLimitForm: 'requests_per_unit',
      limitRemainingHeader: 'RateLimit-Remaining',
      limitResetHeader: 'RateLimit-Reset',
      limitResetForm: 'seconds',
      retryAfterEnabled: undefined,
      retryAfterMsEnabled: false,
      responseBody: NO_BODY,
      responseDynamicMetadata: false,
      responseDecisionMetadata: false,
      backendType: undefined,
      redisUrl: undefined,
      redisType: 'single',
      redisSocketType: 'unix',
      redisPersecond: false,
      redisPersecondAuth: undefined,
      redisPersecondAuthFile: undefined,
      redisPersecondSentinelAuth: undefined,
      redisPersecondSocketType: 'unix',
      redisPipelineWindowMs: 0,
      redisPipelineLimit: 0,
      redisPersecondPipelineWindowMs: 0,
      redisPersecondPipelineLimit: 0,
      redisPersecondTls: false,
      redisPersecondType: 'single',
      redisPersecondUrl: undefined,
      redisSentinelAuth: undefined,
      redisAuth: undefined,
      redisAuthFile: undefined,
      redisTls: false,
      redisTlsClientCert: undefined,
      redisTlsClientKey: undefined,
      redisTlsCacert: undefined,
      redisTlsSkipHostnameVerification: false,
      redisOpTimeoutMs: 5,
      redisConnectTimeoutMs: 1000,
      redisInFlightMax: 10_000,
      denyCacheMax: 10_000,
      redisBreakerFailures: 5,
      redisBreakerWindowMs: 10_000,
      redisBreakerOpenMs: 30_000,
      failureMode: 'local',
      failureModeInstances: 1,
      cacheKeyPrefix: '',
      memoryBucketsMax: 1_000_000,
      controlData: false,
      logLevel: 'info',
      logFormat: 'text',
      metricSeriesMax: 10_000,
      topKeys: false,
      topKeysCapacity: 512,
      metricTopKeys: 0,
      sanitizeDescriptorMetricDots: false,
      extraTags: undefined,
      usePrometheus: false,
      prometheusAddr: { host: undefined, port: 9090 },
      prometheusPath: '/metrics',
      useStatsd: undefined,
      useDogStatsd: false,
      useDogStatsdMogrifiers: undefined,
      statsdHost: undefined,
      statsdPort: undefined,
      statsdProtocol: undefined,
      statsFlushIntervalMs: 10_000,
      disableStats: false,
      tracingEnabled: false,
      tracingExporterProtocol: 'http',
      tracingServiceName: 'RateLimit',
      tracingServiceNamespace: undefined,
      tracingServiceInstanceId: undefined,
      tracingSamplingRate: 1,
      tracingValues: false,
      otelExporterOtlpEndpoint: undefined,
      otelExporterOtlpTracesEndpoint: undefined,
      otelExporterOtlpHeaders: undefined,
      otelExporterOtlpTracesHeaders: undefined,
      otelExporterOtlpTimeout: undefined,
      otelExporterOtlpTracesTimeout: undefined,
      otelExporterOtlpCompression: undefined,
      otelExporterOtlpTracesCompression: undefined,
      otelExporterOtlpCertificate: undefined,
      otelExporterOtlpTracesCertificate: undefined,
      otelExporterOtlpClientCertificate: undefined,
      otelExporterOtlpTracesClientCertificate: undefined,
      otelExporterOtlpClientKey: undefined,
      otelExporterOtlpTracesClientKey: undefined,
      otelExporterOtlpInsecure: undefined,
      otelExporterOtlpTracesInsecure: undefined,
      otelResourceAttributes: undefined,
      otelBspMaxQueueSize: 2048,
      otelBspMaxExportBatchSize: 512,
      otelBspScheduleDelay: 5000,
      otelBspExportTimeout: 30_000,
      drainDelayMs: 5000,
      drainTimeoutMs: 10_000,
      warmUp: true,
    });
  });

  test('settings treat an empty variable as unset', () => {
    expect(readSettings({ PORT: '', REDIS_URL: '', RUNTIME_ROOT: '' })).toEqual(readSettings({}));
  });

  test.each([
    ['LOG_LEVEL', 'WARNING', 'logLevel', 'warn'],
    ['LOG_LEVEL', 'panic', 'logLevel', 'fatal'],
    ['SHADOW_MODE', 'T', 'shadowMode', true],
    ['SHADOW_MODE', '0', 'shadowMode', false],
    ['PORT', '0', 'port', 0],
    ['REDIS_OP_TIMEOUT', '1.5ms', 'redisOpTimeoutMs', 1.5],
    ['REDIS_OP_TIMEOUT', '2000us', 'redisOpTimeoutMs', 2],
    ['DRAIN_TIMEOUT', '1m30s', 'drainTimeoutMs', 90_000],
    ['DRAIN_TIMEOUT', '0', 'drainTimeoutMs', 0],
    ['DRAIN_DELAY', '0s', 'drainDelayMs', 0],
    ['WARM_UP', 'false', 'warmUp', false],
    ['NEAR_LIMIT_RATIO', '1', 'nearLimitRatio', 1],
    ['BACKEND_TYPE', 'Redis', 'backendType', 'redis'],
    ['CACHE_KEY_PREFIX', 'team-a:', 'cacheKeyPrefix', 'team-a:'],
    ['DEFAULT_ALGORITHM', 'token_bucket', 'defaultAlgorithm', 'token_bucket'],
    ['CONFIG_TYPE', 'grpc_xds_sotw', 'configType', 'GRPC_XDS_SOTW'],
    ['XDS_CLIENT_BACKOFF_RANDOM_FACTOR', '1.6', 'xdsClientBackoffRandomFactor', 1.6],
    ['PROMETHEUS_ADDR', '127.0.0.1:91', 'prometheusAddr', { host: '127.0.0.1', port: 91 }],
    ['PROMETHEUS_ADDR', '[::1]:91', 'prometheusAddr', { host: '::1', port: 91 }],
    [
      'EXTRA_TAGS',
      'url:http://x, az:a',
      'extraTags',
      new Map([
        ['url', 'http://x'],
        ['az', 'a'],
      ]),
    ],
    ['USE_DOG_STATSD_MOGRIFIERS', 'a,B_2', 'useDogStatsdMogrifiers', ['A', 'B_2']],
  ] as const)('settings accept %s=%s', (name, text, property, value) => {
    expect(readSettings({ [name]: text })[property]).toEqual(value);
  });

  test.each([
    ['PORT', '65536', '"65536" is not accepted; use a port from 0 to 65535 (0: any free one), or leave it unset for "8080"'],
    [
      'REDIS_OP_TIMEOUT',
      '5',
      '"5" is not accepted; use a duration from 1ms to 1s, such as 5ms, 100ms or 500ms, or leave it unset for "5ms"',
    ],
    [
      'REDIS_OP_TIMEOUT',
      '2s',
      '"2s" is not accepted; use a duration from 1ms to 1s, such as 5ms, 100ms or 500ms, or leave it unset for "5ms"',
    ],
    [
      'DRAIN_TIMEOUT',
      '-1s',
      '"-1s" is not accepted; use a duration from 0s to 10m, such as 5ms, 500ms or 1m30s, or leave it unset for "10s"',
    ],
    ['SHADOW_MODE', 'yes', '"yes" is not accepted; use true or false, or leave it unset for "false"'],
    ['NEAR_LIMIT_RATIO', '1.1', '"1.1" is not accepted; use a number from 0 to 1, or leave it unset for "0.8"'],
    ['REDIS_IN_FLIGHT_MAX', '1e3', '"1e3" is not accepted; use a whole number from 1 to 1000000, or leave it unset for "10000"'],
    ['GRPC_PORT', '010', '"010" is refused: it could be octal or decimal; write it without the leading zero'],
    ['METRIC_SERIES_MAX', '0100', '"0100" is refused: it could be octal or decimal; write it without the leading zero'],
    ['WORKERS', '02', '"02" is refused: it could be octal or decimal; write it without the leading zero'],
    [
      'PROMETHEUS_ADDR',
      '9090',
      '"9090" is not accepted; use an address and a port, such as :9090, 127.0.0.1:9090 or [::1]:9090, or leave it unset for ":9090"',
    ],
    ['PROMETHEUS_PATH', 'metrics', '"metrics" is not accepted; use a path that begins with a slash, or leave it unset for "/metrics"'],
    [
      'EXTRA_TAGS',
      'az',
      '"az" is not accepted; use up to 32 pairs of a name and a value of at most 256 characters, such as region:eu,cluster:blue, or leave it unset',
    ],
    [
      'USE_DOG_STATSD_MOGRIFIERS',
      'a b',
      '"a b" is not accepted; use up to 32 names of letters, digits and _, separated by commas, or leave it unset',
    ],
    ['STATSD_PROTOCOL', 'unix', '"unix" is not accepted; use tcp, udp, or leave it unset'],
    [
      'LOG_LEVEL',
      'loud',
      '"loud" is not accepted; use trace, debug, info, warn, warning, error, fatal, panic, or leave it unset for "info"',
    ],
    [
      'DEFAULT_ALGORITHM',
      'gcra',
      '"gcra" is not accepted; use token_bucket, leaky_bucket, fixed_window, sliding_window_log, sliding_window_counter, or leave it unset',
    ],
    [
      'BACKEND_TYPE',
      'memcache',
      '"memcache" is refused: Weir does not support memcached, because its counts are not exact; use redis or memory',
    ],
    ['CONFIG_TYPE', 'GRPC_XDS_DELTA', '"GRPC_XDS_DELTA" is not accepted; use FILE, GRPC_XDS_SOTW, or leave it unset for "FILE"'],
    ['CONFIG_GRPC_XDS_NODE_METADATA', 'zone', '"zone" is not accepted; use name=value,name=value, or leave it unset'],
    [
      'CONFIG_GRPC_XDS_CLIENT_ADDITIONAL_HEADERS',
      'x-token:secret,,',
      'its value is not accepted; use name:value,name:value in ASCII, or leave it unset',
    ],
    [
      'CONFIG_GRPC_XDS_CLIENT_ADDITIONAL_HEADERS',
      'x-token:größe',
      'its value is not accepted; use name:value,name:value in ASCII, or leave it unset',
    ],
    [
      'CONFIG_GRPC_XDS_CLIENT_ADDITIONAL_HEADERS',
      'grpc-timeout:1S',
      'its value is not accepted; use name:value,name:value in ASCII, or leave it unset',
    ],
    [
      'CONFIG_GRPC_XDS_CLIENT_ADDITIONAL_HEADERS',
      'Transfer-Encoding:chunked',
      'its value is not accepted; use name:value,name:value in ASCII, or leave it unset',
    ],
    ['XDS_CLIENT_BACKOFF_RANDOM_FACTOR', '-1', '"-1" is not accepted; use a number from 0 to 10, or leave it unset for "2"'],
  ])('settings reject %s=%s', (name, text, message) => {
    expect(problemsOf({ [name]: text })).toEqual([`${name}: ${message}`]);
  });

  test('settings read pairs of names and values', () => {
    const env = { CONFIG_GRPC_XDS_NODE_METADATA: 'zone=a, url=x=y', CONFIG_GRPC_XDS_CLIENT_ADDITIONAL_HEADERS: 'x-token:a:b,X-Empty:' };
    expect(readSettings(env)).toMatchObject({
      configGrpcXdsNodeMetadata: [
        ['zone', 'a'],
        ['url', 'x=y'],
      ],
      configGrpcXdsClientAdditionalHeaders: [
        ['x-token', 'a:b'],
        ['X-Empty', ''],
      ],
    });
  });

  test.each(['a{b', 'a}b', 'a b', 'a\n', 'weir:', 'x-weir:y', 'größe'])('settings reject CACHE_KEY_PREFIX=%j', (text) => {
    expect(problemsOf({ CACHE_KEY_PREFIX: text })).toHaveLength(1);
  });

  test('settings list every invalid value at once', () => {
    expect(problemsOf({ PORT: 'x', GRPC_PORT: 'y', LOG_FORMAT: 'z' })).toEqual([
      expect.stringMatching(/^PORT: "x"/),
      expect.stringMatching(/^GRPC_PORT: "y"/),
      expect.stringMatching(/^LOG_FORMAT: "z"/),
    ]);
  });
});
