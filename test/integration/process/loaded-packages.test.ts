/** A process loads no package of a feature that is off. */

import { execFileSync } from 'node:child_process';
import { resolve } from 'node:path';

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
