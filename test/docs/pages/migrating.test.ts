/** The commands of docs/migrating.md print its output with its own files, and its deployments start. */

import { mkdirSync, mkdtempSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parse } from 'yaml';
import { SETTINGS_TABLE } from '../../../src/configuration/settings/table/settings-table';
import { REFERENCE_SETTINGS } from '../../../src/configuration/settings/table/reference-settings';
import { runCommand } from '../../support/processes/command';
import { fencedBlocks } from '../../support/docs/markdown';
import { startRedis } from '../../support/redis/redis-server';
import { OK, OVER_LIMIT, RlsClient } from '../../support/clients/rls-client';
import { startWeir } from '../../support/processes/weir-process';

const PAGE = 'docs/migrating.md';
const text = readFileSync(PAGE, 'utf8');
const folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'weir-migrating-')));
const MAIN = path.resolve('dist', 'main.js');

/** The files of the page, by the names in their first lines. */
const FILES = new Map(fencedBlocks(PAGE, 'yaml').map((block) => [/^# (\S+)\n/.exec(block)?.[1] ?? '', block]));

beforeAll(() => {
  for (const [name, block] of FILES) {
    mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
    writeFileSync(path.join(folder, name), block);
  }
});

const TRIED = Array.from(text.matchAll(/^```sh\n([\s\S]*?)^```\n\n```text\n([\s\S]*?)^```$/gm), ([, command, shown]) => ({
  command: command!.trim(),
  shown: shown!,
}));

test('every file has a name, and every command shows its output', () => {
  expect([...FILES.keys()]).not.toContain('');
  expect(TRIED).toHaveLength(fencedBlocks(PAGE, 'sh').length);
});

/** The page's lines are the file's own: the first one is its name. */
test.each(TRIED)('the page shows the output of: $command', async ({ command, shown }) => {
  const { stdout, stderr } = await runCommand('sh', ['-c', `weir() { "${process.execPath}" "${MAIN}" "$@"; }\n${command}`], {
    cwd: folder,
  });
  expect(stderr).toBe('');
  expect(stdout).toBe(shown);
});

test('the docker-compose file works: its command and environment serve its volume', async () => {
  const { services } = parse(FILES.get('docker-compose.yaml')!) as { services: { ratelimit: { command: string; environment: string[] } } };
  const { command, environment } = services.ratelimit;
  expect(command).toBe('/bin/ratelimit');
  const redis = await startRedis();
  const env = Object.fromEntries(environment.map((line) => line.split('=') as [string, string]));
  const weir = await startWeir({
    // The image has an entry point, and what compose names as the command comes behind it.
    command: [path.resolve('deploy', 'bin', 'ratelimit'), command],
    env: {
      ...env,
      REDIS_URL: env.REDIS_URL!.replace('redis:6379', `127.0.0.1:${redis.port}`),
      RUNTIME_ROOT: folder,
      WEIR_HOME: path.resolve('.'),
      REDIS_OP_TIMEOUT: '1s',
    },
  });
  const client = new RlsClient(weir.grpcPort);
  const { statuses } = await client.ask('shop', [{ entries: { client: 'ann' } }]);
  client.close();
  await weir.stop();
  await redis.stop();
  expect(statuses).toMatchObject([{ code: OK, current_limit: { requests_per_unit: 100 }, limit_remaining: 99 }]);
});

test("Weir admits what limitador's limits on the page allow", async () => {
  const limitador = parse(FILES.get('limitador.yaml')!) as { max_value: number; conditions: string[] }[];
  const smallest = (method: string) =>
    Math.min(...limitador.filter(({ conditions: [condition] }) => condition!.includes(`'${method}'`)).map(({ max_value: most }) => most));
  const weir = await startWeir({ config: path.join(folder, 'limits.yaml') });
  const client = new RlsClient(weir.grpcPort);
  for (const [method, user] of [
    ['GET', 'ann'],
    ['POST', 'ann'],
    ['POST', 'bob'],
  ] as const) {
    const most = smallest(method);
    // Windows end by the clock, so a few more may pass than one window holds, but not twice as many and one.
    const codes: number[] = [];
    for (let asked = 0; asked < 2 * most + 1; asked += 1) {
      codes.push((await client.ask('shop', [{ entries: { method } }, { entries: { method, user } }])).overall_code);
    }
    expect(codes.slice(0, most)).toEqual(Array.from({ length: most }, () => OK));
    expect(codes).toContain(OVER_LIMIT);
  }
  client.close();
  await weir.stop();
});

/** What Envoy Gateway sets in its rate limit deployment: internal/infrastructure/kubernetes/ratelimit/resource.go. */
const ENVOY_GATEWAY = [
  ...[
    'RUNTIME_ROOT',
    'RUNTIME_SUBDIRECTORY',
    'RUNTIME_IGNOREDOTFILES',
    'RUNTIME_WATCH_ROOT',
    'LOG_LEVEL',
    'USE_STATSD',
    'STATSD_PORT',
    'CONFIG_TYPE',
  ],
  ...[
    'CONFIG_GRPC_XDS_SERVER_URL',
    'CONFIG_GRPC_XDS_NODE_ID',
    'CONFIG_GRPC_XDS_SERVER_USE_TLS',
    'CONFIG_GRPC_XDS_CLIENT_TLS_CERT',
    'CONFIG_GRPC_XDS_CLIENT_TLS_KEY',
  ],
  ...[
    'CONFIG_GRPC_XDS_SERVER_TLS_CACERT',
    'GRPC_SERVER_USE_TLS',
    'GRPC_SERVER_TLS_CERT',
    'GRPC_SERVER_TLS_KEY',
    'GRPC_SERVER_TLS_CA_CERT',
    'FORCE_START_WITHOUT_INITIAL_CONFIG',
  ],
  ...[
    'REDIS_SOCKET_TYPE',
    'REDIS_URL',
    'REDIS_TLS',
    'REDIS_TLS_CLIENT_CERT',
    'REDIS_TLS_CLIENT_KEY',
    'USE_PROMETHEUS',
    'PROMETHEUS_ADDR',
    'PROMETHEUS_MAPPER_YAML',
  ],
  ...[
    'TRACING_ENABLED',
    'TRACING_SERVICE_NAME',
    'TRACING_SERVICE_NAMESPACE',
    'TRACING_SERVICE_INSTANCE_ID',
    'TRACING_SAMPLING_RATE',
    'OTEL_EXPORTER_OTLP_ENDPOINT',
  ],
];

test('Weir knows every variable that Envoy Gateway sets, and none of them stops the start', () => {
  const supported: readonly string[] = Object.values(SETTINGS_TABLE).map(({ name }) => name);
  const told = REFERENCE_SETTINGS.filter(({ refused }) => !refused).map(({ name }) => name);
  const isTold = (name: string) => told.some((each) => (each.endsWith('*') ? name.startsWith(each.slice(0, -1)) : each === name));
  expect(ENVOY_GATEWAY.filter((name) => !supported.includes(name) && !isTold(name))).toEqual([]);
  const gateway = parse(FILES.get('envoy-gateway.yaml')!) as {
    kind: string;
    provider: { kubernetes: { rateLimitDeployment: { container: { image: string } } } };
  };
  expect(gateway).toMatchObject({
    kind: 'EnvoyGateway',
    provider: { kubernetes: { rateLimitDeployment: { container: { image: 'weir:0.1.0' } } } },
  });
});

test('every page that it links to exists', () => {
  for (const [, page] of text.matchAll(/\]\(([\w-]+\.md)\)/g)) expect(readFileSync(path.join('docs', page!), 'utf8')).not.toBe('');
});
