/** Updates of a management server under load cause no error, and without the server the last good configuration decides. */

import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { status } from '@grpc/grpc-js';
import type { WireResponse } from '../../../src/server/transport/messages/wire';
import type { WireConfigDescriptor, WireRateLimitConfig } from '../../../src/configuration/source/xds/wire';
import { makeCertificates, type Certificates, type Pair } from '../../support/servers/certificates';
import { httpRequest } from '../../support/clients/http-client';
import { freePort } from '../../support/servers/ports';
import { startRedis } from '../../support/redis/redis-server';
import { testWithTls } from '../../support/redis/engine-tests';
import { OK, OVER_LIMIT, RlsClient } from '../../support/clients/rls-client';
import { TcpProxy } from '../../support/servers/tcp-proxy';
import { until } from '../../support/clock/until';
import { startWeir, type WeirOptions, type WeirProcess } from '../../support/processes/weir-process';
import { XdsServer, type XdsServerOptions } from '../../support/servers/xds-server';

const SECOND = 1;
const YEAR = 6;

/** Waits are short, so that tests are; one of waits says otherwise. */
const ENV = {
  CONFIG_TYPE: 'GRPC_XDS_SOTW',
  BACKEND_TYPE: 'memory',
  CONFIG_GRPC_XDS_NODE_ID: 'a-node',
  CONFIG_GRPC_XDS_SERVER_CONNECT_RETRY_INTERVAL: '100ms',
  XDS_CLIENT_BACKOFF_INITIAL_INTERVAL: '100ms',
  XDS_CLIENT_BACKOFF_MAX_INTERVAL: '500ms',
};

const open: { stop(): unknown }[] = [];

afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each.stop();
});

async function startServer(options?: XdsServerOptions): Promise<XdsServer> {
  const server = await XdsServer.start(options);
  open.push(server);
  return server;
}

async function start(port: number, { env = {}, ...options }: WeirOptions = {}): Promise<WeirProcess> {
  const weir = await startWeir({ ...options, env: { ...ENV, CONFIG_GRPC_XDS_SERVER_URL: `localhost:${port}`, ...env } });
  open.push(weir);
  return weir;
}

function clientOf(weir: WeirProcess): RlsClient {
  const client = new RlsClient(weir.grpcPort);
  open.push({
    stop: () => {
      client.close();
    },
  });
  return client;
}

/** Two rules that change together: whoever sees both in one answer sees whether they are of one set. */
function configOf(limit: number): WireRateLimitConfig {
  const rule = { unit: YEAR, requests_per_unit: limit };
  return {
    name: 'resource',
    domain: 'd',
    descriptors: [
      { key: 'one', rate_limit: rule },
      { key: 'two', rate_limit: rule },
    ],
  };
}

const BAD: WireRateLimitConfig = {
  name: 'bad',
  domain: 'd',
  descriptors: [
    { key: 'k', rate_limit: { unit: 77, requests_per_unit: 1 } },
    { key: 'l', rate_limit: { requests_per_unit: 1 } },
    { key: '' },
  ],
};

function ask(client: RlsClient): Promise<WireResponse> {
  return client.ask('d', [{ entries: { one: 'v' } }, { entries: { two: 'v' } }]);
}

/** The set that an answer was given by. */
function limitOf({ statuses }: WireResponse): number {
  const limits = statuses.map(({ current_limit: limit }) => Number(limit?.requests_per_unit));
  expect(new Set(limits).size).toBe(1);
  return limits[0]!;
}

async function healthOf(weir: WeirProcess): Promise<readonly [number, string]> {
  const { status: code, body } = await httpRequest(`http://127.0.0.1:${weir.httpPort}/healthcheck`);
  return [code, body];
}

async function metricOf(weir: WeirProcess, name: string): Promise<number> {
  const { body } = await httpRequest(`http://127.0.0.1:${weir.debugPort}/metrics`);
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(body)?.[1]);
}

test('the first configuration decides, in fixed windows, and the log names its source', async () => {
  const server = await startServer();
  server.send('1', [configOf(2)]);
  const env = { CONFIG_GRPC_XDS_NODE_METADATA: 'zone=a', CONFIG_GRPC_XDS_CLIENT_ADDITIONAL_HEADERS: 'x-token:t' };
  const weir = await start(server.port, { env });
  const client = clientOf(weir);
  expect(limitOf(await ask(client))).toBe(2);
  expect((await ask(client)).overall_code).toBe(OK);
  expect((await ask(client)).overall_code).toBe(OVER_LIMIT);
  const { body } = await httpRequest(`http://127.0.0.1:${weir.debugPort}/rlconfig`);
  expect(body).toContain('d.one: unit=YEAR requests_per_unit=2');
  expect(weir.output()).toContain(
    `limits use fixed_window by default, as in envoyproxy/ratelimit: the configuration comes from the management server at localhost:${server.port}, and the RUNTIME_* settings have no effect`,
  );
  expect(server.told[0]!.request).toMatchObject({
    node: { id: 'a-node', metadata: { fields: { zone: { stringValue: 'a' } } }, user_agent_name: 'weir' },
  });
  expect(server.told[0]!.headers.get('x-token')).toEqual(['t']);
});

test('updates under load cause no error, mixture or step back, and apply from the ACK on', async () => {
  const server = await startServer();
  server.send('0', [configOf(1_000_000)]);
  const weir = await start(server.port);
  let isOver = false;
  let calls = 0;
  const callers = Array.from({ length: 8 }, () => clientOf(weir)).map(async (client) => {
    for (let latest = 0; !isOver; calls += 1) {
      const limit = limitOf(await ask(client));
      expect(limit).toBeGreaterThanOrEqual(latest);
      latest = limit;
    }
  });
  const watcher = clientOf(weir);
  for (let version = 1; version <= 60; version += 1) {
    // Every fourth one is bad, in one resource of two.
    const isBad = version % 4 === 0;
    const answer = await server.answerTo(
      server.send(String(version), isBad ? [configOf(1_000_000 + version), { ...BAD, domain: 'e' }] : [configOf(1_000_000 + version)]),
    );
    expect(answer.error_detail === undefined).toBe(!isBad);
    expect(answer.version_info).toBe(String(isBad ? version - 1 : version));
    expect(limitOf(await ask(watcher))).toBe(1_000_000 + version - Number(isBad));
  }
  isOver = true;
  await Promise.all(callers);
  expect(calls).toBeGreaterThan(60);
  expect(await metricOf(weir, 'weir_config_generation')).toBe(46);
});

test('a bad set is rejected with all its problems; the last good one stays; health, metrics and log report it', async () => {
  const server = await startServer();
  server.send('1', [configOf(5)]);
  const weir = await start(server.port);
  const { error_detail: detail, version_info: version } = await server.answerTo(server.send('2', [{ ...configOf(6), domain: 'e' }, BAD]));
  expect(version).toBe('1');
  expect(detail!.message.split('\n')).toEqual([
    expect.stringMatching(/^bad: descriptors\[0\]\.rate_limit\.unit: unknown unit "77"; use one of second, /) as unknown,
    expect.stringMatching(/^bad: descriptors\[1\]\.rate_limit\.unit: is missing; use one of second, /) as unknown,
    'bad: descriptors[2].key: must not be empty',
  ]);
  expect(limitOf(await ask(clientOf(weir)))).toBe(5);
  expect(await healthOf(weir)).toEqual([200, 'OK\nconfig: last good\n']);
  expect(await metricOf(weir, 'ratelimit_service_config_load_error')).toBe(1);
  expect(weir.output()).toContain('bad: descriptors[2].key: must not be empty');
  await server.answerTo(server.send('3', [configOf(7)]));
  expect(limitOf(await ask(clientOf(weir)))).toBe(7);
  expect(await healthOf(weir)).toEqual([200, 'OK']);
});

describe('the server is gone', () => {
  test('the last good configuration decides until the server is back, and the client sends its version', async () => {
    const server = await startServer();
    server.send('1', [configOf(5)]);
    const weir = await start(server.port);
    await server.next(({ request }) => request.version_info === '1');
    expect(await metricOf(weir, 'weir_xds_connected')).toBe(1);
    server.die();
    await until(() => weir.output().includes('The last good configuration stays in force'));
    expect(await metricOf(weir, 'weir_xds_connected')).toBe(0);
    expect(limitOf(await ask(clientOf(weir)))).toBe(5);
    await server.comeBack();
    expect((await server.next(({ stream }) => stream === 2)).request).toMatchObject({ version_info: '1', node: { id: 'a-node' } });
    await server.answerTo(server.send('2', [configOf(6)]));
    expect(limitOf(await ask(clientOf(weir)))).toBe(6);
  });

  test('the client replaces a connection that has gone silent', async () => {
    const server = await startServer();
    server.send('1', [configOf(5)]);
    const proxy = await TcpProxy.start(server.port);
    open.push(proxy);
    await start(proxy.port, { env: { XDS_CLIENT_KEEPALIVE_TIME: '1s', XDS_CLIENT_KEEPALIVE_TIMEOUT: '500ms' } });
    await server.next(({ request }) => request.version_info === '1');
    proxy.silenceOpen();
    await server.next(({ stream }) => stream === 2);
  });

  test('a factor below 1 does not shrink the waits between streams that the server ends at once', async () => {
    const server = await startServer();
    server.send('1', [configOf(5)]);
    const weir = await start(server.port, {
      env: { XDS_CLIENT_BACKOFF_RANDOM_FACTOR: '0.5', XDS_CLIENT_BACKOFF_JITTER: 'false', XDS_CLIENT_BACKOFF_MAX_INTERVAL: '10m' },
    });
    await server.next(({ request }) => request.version_info === '1');
    server.isFlapping = true;
    server.endStreams();
    await until(() => server.streamsSeen >= 5);
    // By the factor that is given they would not grow.
    expect(Array.from(weir.output().matchAll(/next try in (\S+) s/g), ([, waited]) => waited).slice(0, 4)).toEqual([
      '0.1',
      '0.2',
      '0.4',
      '0.8',
    ]);
    expect(limitOf(await ask(clientOf(weir)))).toBe(5);
  });
});

test('XDS_CLIENT_MAX_MSG_SIZE_IN_BYTES rejects a longer message, and the log names the setting', async () => {
  const server = await startServer();
  server.send('1', [configOf(5)]);
  const weir = await start(server.port, { env: { XDS_CLIENT_MAX_MSG_SIZE_IN_BYTES: '1000' } });
  server.send('2', [{ ...configOf(6), name: 'x'.repeat(1000) }]);
  await until(() => weir.output().includes('raise XDS_CLIENT_MAX_MSG_SIZE_IN_BYTES'));
  expect(limitOf(await ask(clientOf(weir)))).toBe(5);
});

describe('no first configuration', () => {
  test('before the first configuration health is off with the reason and calls are UNAVAILABLE, until it comes', async () => {
    const server = await startServer();
    server.die();
    const weir = await start(server.port, { healthStatus: 500 });
    expect(await healthOf(weir)).toEqual([500, 'NOT_SERVING\nconfig: none yet\n']);
    expect(weir.output()).toContain(
      `waiting for the first configuration from the management server at localhost:${server.port}, as node a-node: it has sent none within 2 s`,
    );
    expect(weir.output()).toMatch(
      /no configuration from the management server at localhost:\d+ \(UNAVAILABLE: .*ECONNREFUSED.*\)\. There is no configuration yet; next try in 0\.\d s/,
    );
    const client = clientOf(weir);
    await expect(ask(client)).rejects.toMatchObject({ code: status.UNAVAILABLE });
    await server.comeBack();
    server.send('1', [configOf(5)]);
    await until(async () => (await healthOf(weir))[0] === 200);
    expect(limitOf(await ask(client))).toBe(5);
  });

  test.each([
    [{ FORCE_START_WITHOUT_INITIAL_CONFIG: 'true' }, 200],
    [{ FORCE_START_WITHOUT_INITIAL_CONFIG: 'true', HEALTHY_WITH_AT_LEAST_ONE_CONFIG_LOADED: 'true' }, 500],
  ])('%j: health is %d, and calls are UNAVAILABLE without a configuration', async (env, healthStatus) => {
    const server = await startServer();
    const weir = await start(server.port, { env, healthStatus });
    expect((await healthOf(weir))[1]).toContain('config: none yet');
    await expect(ask(clientOf(weir))).rejects.toMatchObject({ code: status.UNAVAILABLE });
  });

  test('a bad first set gets a NACK without a version, and Weir keeps waiting', async () => {
    const server = await startServer();
    const nonce = server.send('1', [BAD]);
    const weir = await start(server.port, { healthStatus: 500 });
    expect((await server.answerTo(nonce)).version_info).toBeUndefined();
    await server.answerTo(server.send('2', [configOf(5)]));
    await until(async () => (await healthOf(weir))[0] === 200);
  });
});

test('SIGHUP requests the whole set again at once', async () => {
  const server = await startServer();
  server.send('1', [configOf(5)]);
  const weir = await start(server.port);
  await server.next(({ request }) => request.version_info === '1');
  weir.kill('SIGHUP');
  expect((await server.next(({ stream }) => stream === 2)).request.version_info).toBeUndefined();
  await until(async () => (await metricOf(weir, 'weir_config_generation')) === 2);
});

test('WORKERS=2 uses one stream, and every worker decides by its configuration', async () => {
  const redis = await startRedis();
  open.push(redis);
  const server = await startServer();
  server.send('1', [configOf(1_000_000)]);
  const env = { BACKEND_TYPE: 'redis', REDIS_URL: `redis://127.0.0.1:${redis.port}`, REDIS_OP_TIMEOUT: '1s', WORKERS: '2' };
  const weir = await start(server.port, { env });
  const clients = Array.from({ length: 8 }, () => clientOf(weir));
  expect((await Promise.all(clients.map(ask))).map(limitOf)).toEqual(clients.map(() => 1_000_000));
  await server.answerTo(server.send('2', [configOf(2_000_000)]));
  await until(async () => (await Promise.all(clients.map(ask))).map(limitOf).every((limit) => limit === 2_000_000));
  expect(server.streamsSeen).toBe(1);
  expect(await metricOf(weir, 'weir_xds_connected')).toBe(1);
});

describe('TLS', () => {
  let certificates: Certificates;
  let folder: string;

  beforeAll(() => {
    certificates = makeCertificates();
    folder = mkdtempSync(path.join(tmpdir(), 'weir-xds-'));
  });

  afterAll(() => {
    rmSync(folder, { recursive: true });
  });

  function envOf(identity: Pair): Record<string, string> {
    return {
      CONFIG_GRPC_XDS_SERVER_USE_TLS: 'true',
      CONFIG_GRPC_XDS_CLIENT_TLS_CERT: identity.cert,
      CONFIG_GRPC_XDS_CLIENT_TLS_KEY: identity.key,
      CONFIG_GRPC_XDS_SERVER_TLS_CACERT: certificates.ca.cert,
    };
  }

  test('both sides present certificates; an invalid one is rejected, and a renewed one accepted', async () => {
    const server = await startServer({ tls: { server: certificates.server, clientCa: certificates.ca.cert } });
    server.send('1', [configOf(5)]);
    const identity = { cert: path.join(folder, 'tls.crt'), key: path.join(folder, 'tls.key') };
    const use = ({ cert, key }: Pair) => {
      copyFileSync(cert, identity.cert);
      copyFileSync(key, identity.key);
    };
    use(certificates.stranger);
    const weir = await start(server.port, { env: envOf(identity), healthStatus: 500 });
    expect(server.streamsSeen).toBe(0);
    use(certificates.client);
    await until(async () => (await healthOf(weir))[0] === 200);
    expect(limitOf(await ask(clientOf(weir)))).toBe(5);
  });

  test('the client rejects a server with the wrong name unless that name is configured', async () => {
    const server = await startServer({ tls: { server: certificates.elsewhere, clientCa: certificates.ca.cert } });
    server.send('1', [configOf(5)]);
    const weir = await start(server.port, { env: envOf(certificates.client), healthStatus: 500 });
    expect(weir.output()).toMatch(/no configuration from the management server at .*does not match certificate's altnames/);
    const named = await start(server.port, {
      env: { ...envOf(certificates.client), CONFIG_GRPC_XDS_SERVER_TLS_SAN: 'redis.elsewhere.test' },
    });
    expect(limitOf(await ask(clientOf(named)))).toBe(5);
  });

  test('the client checks an IP address against the certificate as it checks a name', async () => {
    const server = await startServer({ tls: { server: certificates.server, clientCa: certificates.ca.cert } });
    server.send('1', [configOf(5)]);
    const env = envOf(certificates.client);
    const byAddress = await start(server.port, { env: { ...env, CONFIG_GRPC_XDS_SERVER_URL: `127.0.0.1:${server.port}` } });
    expect(limitOf(await ask(clientOf(byAddress)))).toBe(5);
    const expected = await start(server.port, { env: { ...env, CONFIG_GRPC_XDS_SERVER_TLS_SAN: '127.0.0.1' } });
    expect(limitOf(await ask(clientOf(expected)))).toBe(5);
    const other = await start(server.port, { env: { ...env, CONFIG_GRPC_XDS_SERVER_TLS_SAN: '127.0.0.2' }, healthStatus: 500 });
    expect(other.output()).toMatch(/no configuration from the management server at .*127\.0\.0\.2 is not in the cert's list/);
  });

  testWithTls('all variables of Envoy Gateway together work, or cause a log line that says what has no effect', async () => {
    const { ca, server: pair, client } = certificates;
    const redisTls = await startRedisTls(certificates);
    const server = await startServer({ tls: { server: pair, clientCa: ca.cert } });
    server.send('1', [{ name: 'default/eg/http', domain: 'default/eg/http', descriptors: gatewayDescriptors() }]);
    const env = {
      RUNTIME_ROOT: '/data',
      RUNTIME_SUBDIRECTORY: 'ratelimit',
      RUNTIME_IGNOREDOTFILES: 'true',
      RUNTIME_WATCH_ROOT: 'false',
      LOG_LEVEL: 'info',
      USE_STATSD: 'false',
      CONFIG_TYPE: 'GRPC_XDS_SOTW',
      CONFIG_GRPC_XDS_SERVER_URL: `localhost:${server.port}`,
      CONFIG_GRPC_XDS_NODE_ID: 'envoy-ratelimit',
      GRPC_SERVER_USE_TLS: 'true',
      GRPC_SERVER_TLS_CERT: pair.cert,
      GRPC_SERVER_TLS_KEY: pair.key,
      GRPC_SERVER_TLS_CA_CERT: ca.cert,
      ...envOf(client),
      FORCE_START_WITHOUT_INITIAL_CONFIG: 'true',
      REDIS_SOCKET_TYPE: 'tcp',
      REDIS_URL: `localhost:${redisTls.port}`,
      REDIS_TLS: 'true',
      REDIS_TLS_CLIENT_CERT: client.cert,
      REDIS_TLS_CLIENT_KEY: client.key,
      USE_PROMETHEUS: 'true',
      PROMETHEUS_ADDR: ':0',
      PROMETHEUS_MAPPER_YAML: '/etc/statsd-exporter/conf.yaml',
      TRACING_ENABLED: 'true',
      TRACING_SERVICE_NAME: 'envoy-ratelimit',
      TRACING_SERVICE_NAMESPACE: 'envoy-gateway-system',
      TRACING_SERVICE_INSTANCE_ID: 'envoy-ratelimit-0',
      TRACING_SAMPLING_RATE: '1.0',
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://localhost:4318',
    };
    // What Kubernetes does for a pod, the authorities of Redis, is Node's own variable here.
    const weir = await startWeir({ env: { ...env, NODE_EXTRA_CA_CERTS: ca.cert } });
    open.push(weir);
    expect(await healthOf(weir)).toEqual([200, 'OK']);
    expect(weir.output()).not.toMatch(/ERROR|FATAL/);
    const without = Object.keys(env).filter((name) => weir.output().includes(`${name} has no effect here.`));
    // Of all the others each has a test that shows what it does.
    expect(without.filter((name) => !/^(GRPC_SERVER_TLS_CA_CERT|USE_PROMETHEUS|PROMETHEUS_.*)$/.test(name))).toEqual([]);
    expect(without).toContain('GRPC_SERVER_TLS_CA_CERT');
    expect(weir.output()).toContain('the RUNTIME_* settings have no effect');
    const { body } = await httpRequest(`http://127.0.0.1:${weir.debugPort}/rlconfig`);
    expect(body).toContain(
      'default/eg/http.httproute/default/r/rule/0/match/0/*_httproute/default/r/rule/0/match/0/*.rule-0-match-0_rule-0-match-0: unit=SECOND requests_per_unit=3',
    );
  });
});

/** As it makes them of a route with a limit for a header's value. */
function gatewayDescriptors(): readonly WireConfigDescriptor[] {
  const route = 'httproute/default/r/rule/0/match/0/*';
  return [
    {
      key: route,
      value: route,
      descriptors: [{ key: 'rule-0-match-0', value: 'rule-0-match-0', rate_limit: { unit: SECOND, requests_per_unit: 3 } }],
    },
  ];
}

async function startRedisTls({ server, ca }: Certificates) {
  const port = await freePort();
  const files = ['--tls-cert-file', server.cert, '--tls-key-file', server.key, '--tls-ca-cert-file', ca.cert];
  const redis = await startRedis({ config: ['--tls-port', String(port), ...files] });
  open.push(redis);
  return { port };
}

test('messages of grpc-js appear in our log, in its format, from every process', async () => {
  const server = await startServer();
  const redis = await startRedis();
  open.push(redis);
  server.send('1', [configOf(7)]);
  // A proxy that grpc-js does not take, which it says and goes without; and every call that it serves.
  const tellsAll = {
    grpc_proxy: 'ftp://127.0.0.1:1',
    GRPC_TRACE: 'server_call',
    GRPC_VERBOSITY: 'DEBUG',
    LOG_LEVEL: 'debug',
    LOG_FORMAT: 'json',
  };
  const env = {
    ...tellsAll,
    BACKEND_TYPE: 'redis',
    REDIS_URL: `redis://127.0.0.1:${redis.port}`,
    REDIS_OP_TIMEOUT: '1s',
    WORKERS: '2',
    TRANSPORT: 'grpc-js',
    WARM_UP: 'false',
  };
  const weir = await start(server.port, { env });
  await clientOf(weir).ask('d', [{ entries: { one: 'a' } }]);
  const lines = weir
    .output()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  const ofGrpc = lines.filter((line) => String(line['@message']).startsWith('grpc-js: '));
  expect(ofGrpc).toContainEqual({
    level: 'error',
    code: 'grpc_js',
    '@timestamp': expect.any(String) as unknown,
    '@message': 'grpc-js: "ftp:" scheme not supported in proxy URI',
  });
  expect(ofGrpc).toContainEqual(
    expect.objectContaining({
      level: 'debug',
      worker: expect.any(Number) as unknown,
      '@message': expect.stringContaining(
        'Received call to method /envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit',
      ) as unknown,
    }),
  );
});
