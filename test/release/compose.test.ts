/** Envoy, two Weirs and Redis decide as deploy/compose.yaml starts them, and docker compose accepts the file. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parse } from 'yaml';
import { onLoopback } from '../envoy/chain/published-addresses';
import { httpRequest } from '../support/clients/http-client';
import { until } from '../support/clock/until';
import { COMPOSE_FILE, readCompose, sourceOf, type Services } from '../support/image/compose';
import { startChild, type Child } from '../support/processes/child-process';
import { runCommand } from '../support/processes/command';
import { startWeir } from '../support/processes/weir-process';
import { startRedis } from '../support/redis/redis-server';
import { startEnvoy } from '../support/servers/envoy';
import { freePort } from '../support/servers/ports';

const ROOT = path.resolve(__dirname, '..', '..');
const folder = mkdtempSync(path.join(tmpdir(), 'weir-compose-'));
let services: Services;

beforeAll(async () => {
  services = await readCompose();
});

afterAll(() => {
  rmSync(folder, { recursive: true });
});

test('the reader of docker compose accepts the file, and refuses a key that it does not know', async () => {
  expect(Object.keys(services).sort()).toEqual(['backend', 'envoy', 'grafana', 'prometheus', 'redis', 'weir']);
  const wrong = path.join(folder, 'compose.yaml');
  writeFileSync(wrong, readFileSync(COMPOSE_FILE, 'utf8').replace('read_only: true', 'readonly: true'));
  await expect(readCompose(wrong)).rejects.toThrow('readonly');
});

test('every file that a service of compose mounts exists, and none can be written', () => {
  const volumes = Object.values(services).flatMap(({ volumes: mounted = [] }) => mounted);
  expect(volumes.length).toBeGreaterThan(5);
  for (const { source, target, read_only: isReadOnly } of volumes) {
    expect({ source, exists: existsSync(source), isReadOnly }).toEqual({ source, exists: true, isReadOnly: true });
    // Or the engine makes a folder in place of the file.
    expect({ target, isFile: statSync(source).isFile() }).toEqual({ target, isFile: path.extname(target) === '.yaml' });
  }
});

test('one service of compose builds the image of Weir, and the other takes that image', () => {
  expect(services.weir.build).toBeDefined();
  expect(services.backend).toMatchObject({ image: services.weir.image, pull_policy: 'never' });
  expect(services.backend.build).toBeUndefined();
});

test('compose opens its ports to this machine only', () => {
  const ports = Object.entries(services).flatMap(([name, { ports: open = [] }]) => open.map((port) => ({ name, ...port })));
  expect(ports.map(({ name, host_ip: host, published }) => `${name} ${host ?? ''}:${published}`).sort()).toEqual([
    'envoy 127.0.0.1:10000',
    'grafana 127.0.0.1:3000',
    'prometheus 127.0.0.1:9090',
  ]);
});

test('compose has the version of Weir, and of the Envoy that the tests run', () => {
  const { version } = JSON.parse(readFileSync(path.join(ROOT, 'package.json'), 'utf8')) as { version: string };
  expect(services.weir.image).toBe(`weir:${version}`);
  const [, envoy] = /'(\d+\.\d+\.\d+)'/.exec(readFileSync(path.join(ROOT, 'scripts', 'install', 'envoy.mjs'), 'utf8'))!;
  // Once a release has pinned it, with its digest.
  expect(services.envoy.image.replace(/@sha256:.*/, '')).toBe(`envoyproxy/envoy:v${envoy}`);
});

test('promtool accepts what Prometheus of compose scrapes, with its alerts', async () => {
  const [option = ''] = services.prometheus.command!.filter((argument) => argument.startsWith('--config.file='));
  const config = readFileSync(sourceOf(services.prometheus, option.split('=')[1]!), 'utf8');
  const { rule_files: rules, scrape_configs: jobs } = parse(config) as {
    rule_files: string[];
    scrape_configs: { dns_sd_configs: { names: string[]; port: number }[] }[];
  };
  const file = path.join(folder, 'prometheus.yaml');
  writeFileSync(
    file,
    rules.reduce((text, rule) => text.replace(rule, sourceOf(services.prometheus, rule)), config),
  );
  const { exitCode, stdout } = await runCommand(process.env.WEIR_PROMTOOL ?? 'promtool', ['check', 'config', file]);
  expect(stdout).toMatch(/SUCCESS: \d+ rules found/);
  expect(exitCode).toBe(0);
  // The debug port of the service.
  expect(jobs.flatMap(({ dns_sd_configs: names }) => names)).toMatchObject([{ names: ['weir'], port: 6070 }]);
  expect(Object.keys(services)).toContain('weir');
});

test('Grafana of compose gets the dashboards and a data source for them', () => {
  const provisioning = '/etc/grafana/provisioning';
  const read = (place: string) => parse(readFileSync(sourceOf(services.grafana, `${provisioning}/${place}/weir.yaml`), 'utf8')) as never;
  const { datasources } = read('datasources') as { datasources: { type: string; url: string; isDefault: boolean }[] };
  expect(datasources).toMatchObject([{ type: 'prometheus', url: 'http://prometheus:9090', isDefault: true }]);
  const { providers } = read('dashboards') as { providers: { type: string; options: { path: string } }[] };
  expect(providers).toMatchObject([{ type: 'file' }]);
  const dashboards = readdirSync(sourceOf(services.grafana, providers[0]!.options.path));
  expect(dashboards.sort()).toEqual(['weir-rules.json', 'weir-service.json']);
  expect(existsSync(sourceOf(services.grafana, services.grafana.environment!.GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH!))).toBe(true);
});

test('Envoy, two Weirs, Redis and the backend of compose let three payments pass and refuse the fourth', async () => {
  const { weir, redis, envoy, backend } = services;
  const [, ...redisConfig] = redis.command!;
  const server = await startRedis({ config: redisConfig });
  const weirs = await Promise.all(Array.from({ length: weir.deploy!.replicas }, () => startInstance(server.port)));
  const backendPort = await freePort();
  const [program = '', ...script] = backend.entrypoint!.map((word) => word.replace('listen(8080)', `listen(${backendPort}, '127.0.0.1')`));
  const upstream: Child = startChild({ command: program, args: script });
  const [adminPort, listenPort] = [await freePort(), await freePort()];
  const config = envoy.command![envoy.command!.indexOf('-c') + 1]!;
  const gateway = await startEnvoy({
    config: { file: sourceOf(envoy, config) },
    adminPort,
    replacements: {
      ...onLoopback({ adminPort, listenPort, backendPort, weirGrpcPorts: weirs.map(({ grpcPort }) => grpcPort) }),
      // Many processes share two cores here.
      'timeout: 0.02s': 'timeout: 3s',
    },
  });
  // `/search` has limits of its own.
  await until(async () => {
    const { status, headers } = await httpRequest(`http://127.0.0.1:${listenPort}/search`);
    return status === 200 && headers['x-ratelimit-limit'] !== undefined;
  });
  const answers: { readonly status: number; readonly body: string }[] = [];
  for (let call = 0; call < 4; call += 1) answers.push(await httpRequest(`http://127.0.0.1:${listenPort}/payment`));
  await gateway.stop();
  await upstream.stop();
  for (const instance of weirs) await instance.stop();
  await server.stop();
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 429]);
  expect(answers[0]!.body).toBe('from the backend\n');

  function startInstance(redisPort: number) {
    const args = weir.command!.map((word) => (word.startsWith('/') ? sourceOf(weir, word) : word));
    const env = { ...weir.environment, WEIR_HOME: ROOT, REDIS_URL: `127.0.0.1:${redisPort}`, REDIS_OP_TIMEOUT: '1s' };
    return startWeir({ command: [path.join(ROOT, 'deploy', 'bin', 'ratelimit')], args, env });
  }
}, 60_000);
