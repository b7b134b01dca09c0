/** A process loads no package of a feature that is off. */

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { relative, resolve } from 'node:path';
import { writeConfig, writeText } from '../../support/config/temp-config';
import { startWeir } from '../../support/processes/weir-process';
import { startRedis } from '../../support/redis/redis-server';

const ROOT = resolve(__dirname, '..', '..', '..');

/** The packages that are there when this file of the build has been loaded. */
function packagesOf(file: string): ReadonlySet<string> {
  const script = `require('./dist/${file}'); console.log(JSON.stringify(Object.keys(require.cache)))`;
  const files = JSON.parse(execFileSync(process.execPath, ['-e', script], { cwd: ROOT, encoding: 'utf8' })) as string[];
  return new Set(files.flatMap((each) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(each)?.[1] ?? []));
}

const ofRedis = (packages: ReadonlySet<string>): string[] => [...packages].filter((name) => name.includes('redis'));

test("a server on the embedded store does not load Redis's client", () => {
  const packages = packagesOf('program/cli/serve.js');
  expect(packages).toContain('prom-client');
  expect(ofRedis(packages)).toEqual([]);
});

/** What TRANSPORT=grpc-js, CONFIG_TYPE=GRPC_XDS_SOTW, YAML with anchors, statsd, traces, and other commands than `serve` need. */
test.each([
  'fastify',
  'jose',
  '@sinclair/typebox',
  '@grpc/grpc-js',
  '@grpc/proto-loader',
  'protobufjs',
  'yaml',
  're2js',
  '@opentelemetry/core',
  '@opentelemetry/sdk-trace',
])('a server with default settings does not load %s', (name) => {
  expect([...packagesOf('program/cli/serve.js')]).not.toContain(name);
});

test('the commands of the admin API load no package', () => {
  for (const name of ['override', 'block', 'bucket', 'top', 'tail', 'audit'])
    expect([...packagesOf(`program/cli/control/${name}.js`)]).toEqual([]);
  expect([...packagesOf('program/cli/control/control-command.js')]).toEqual([]);
});

test('the grpc-js transport and a management server load grpc-js', () => {
  expect([...packagesOf('server/transport/grpc/grpc-server.js')]).toContain('@grpc/grpc-js');
  expect([...packagesOf('program/app/open-xds.js')]).toContain('@grpc/grpc-js');
});

test('a warm-up for Redis loads the layers around the client, and no client', () => {
  expect(ofRedis(packagesOf('server/warm-up/redis-path.js'))).toEqual([]);
});

test('a server on Redis loads its client', () => {
  expect(packagesOf('program/app/deciding/open-redis.js')).toContain('@redis/client');
});

const PRELOAD = resolve(__dirname, '../../support/processes/loaded-modules.cjs');
const ONE_RULE = writeConfig('domain: d\ndescriptors: [{ key: k, rate_limit: { unit: hour, requests_per_unit: 3 } }]\n');

/** What a server has loaded from its start to its end, as paths from the root of the repository. */
async function loadedByServing(env: Readonly<Record<string, string>>): Promise<readonly string[]> {
  const list = writeText('');
  const weir = await startWeir({
    config: ONE_RULE,
    command: [process.execPath, '--require', PRELOAD, resolve(ROOT, 'dist/main.js'), 'serve'],
    env: { WARM_UP: 'true', LOG_FORMAT: 'json', ...env, LOADED_MODULES: list },
  });
  expect(await weir.stop()).toBe(0);
  return (JSON.parse(readFileSync(list, 'utf8')) as string[]).map((file) => relative(ROOT, file));
}

/** Each module costs about 0.3 ms of processor time at every start, so a higher bound needs a reason. */
test.each([
  ['the embedded store', 506, () => Promise.resolve({ env: { BACKEND_TYPE: 'memory' }, stop: () => Promise.resolve() })],
  [
    'Redis',
    1_040,
    async () => {
      const redis = await startRedis();
      return { env: { REDIS_URL: `127.0.0.1:${redis.port}` }, stop: () => redis.stop() };
    },
  ],
])('a plain server on %s loads at most %i modules, and none of a part that no setting asks for', async (_, modulesMax, open) => {
  const { env, stop } = await open();
  let loaded: readonly string[];
  try {
    loaded = await loadedByServing(env);
  } finally {
    await stop();
  }
  expect(loaded.length).toBeLessThanOrEqual(modulesMax);
  const absent =
    /^dist\/(?:state\/top\/live-keys|state\/control\/(?:tenants|control-data|control-follower|file\/control-file\.js|local-control-store)|state\/penalty\/penalties|state\/rollout|state\/events|server\/observability\/events|program\/app\/events|server\/workers\/(?:worker-pool|worker-metrics)|program\/app\/(?:open-workers|deciding\/open-(?:top|control|penalties|rollouts))|administration\/admin\/auth)/;
  expect(loaded.filter((file) => absent.test(file))).toEqual([]);
  const packages = /^node_modules\/(?:redis|@redis\/(?!client\/)|pino-pretty|fastify|@grpc|yaml|@aws-sdk|@smithy|@azure)\//;
  expect(loaded.filter((file) => packages.test(file))).toEqual([]);
});

test('a command loads no part of the server', () => {
  const script =
    "process.argv[2] = 'version'; require('./dist/main.js'); process.on('exit', () => console.log(Object.keys(require.cache).length))";
  const [, modules] = execFileSync(process.execPath, ['-e', script, 'weir'], { cwd: ROOT, encoding: 'utf8' }).split('\n');
  expect(Number(modules)).toBeLessThanOrEqual(25);
});
