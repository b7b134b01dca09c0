/** Packages of features that are off are not loaded: each takes megabytes of every process. */

import { execFileSync } from 'node:child_process';
import { resolve } from 'node:path';

const ROOT = resolve(__dirname, '..', '..');

/** The packages that are there when this file of the build has been loaded. */
function packagesOf(file: string): ReadonlySet<string> {
  const script = `require('./dist/${file}'); console.log(JSON.stringify(Object.keys(require.cache)))`;
  const files = JSON.parse(execFileSync(process.execPath, ['-e', script], { cwd: ROOT, encoding: 'utf8' })) as string[];
  return new Set(files.flatMap((each) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(each)?.[1] ?? []));
}

/** The client, and the circuit breaker that lies around each server. */
const OF_REDIS = /redis|^opossum$/;

const ofRedis = (packages: ReadonlySet<string>): string[] => [...packages].filter((name) => OF_REDIS.test(name));

test('a server on the embedded store loads no client of Redis, and nothing that is wrapped around one', () => {
  const packages = packagesOf('cli/serve.js');
  expect(packages).toContain('@grpc/grpc-js');
  expect(ofRedis(packages)).toEqual([]);
});

test('a warm-up for Redis loads what is wrapped around it, and no client', () => {
  expect(ofRedis(packagesOf('warm-up/redis-path.js'))).toEqual(['opossum']);
});

test('one on Redis does', () => {
  expect(packagesOf('open-redis.js')).toContain('@redis/client');
});
