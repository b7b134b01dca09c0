/** `/bin/ratelimit` serves from the variables of the Deployment alone. */
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { httpRequest } from '../support/clients/http-client';
import { startRedis, type RedisServer } from '../support/redis/redis-server';
import { startWeir, type WeirProcess } from '../support/processes/weir-process';
import { DEPLOY } from './manifests';

const root = mkdtempSync(join(tmpdir(), 'weir-data-'));
let redis: RedisServer | undefined;
let weir: WeirProcess | undefined;

afterAll(async () => {
  await weir?.stop();
  await redis?.stop();
  rmSync(root, { recursive: true, force: true });
});

test('deploy/bin/ratelimit serves the config that RUNTIME_ variables point at, and exits with 0 on SIGTERM', async () => {
  mountConfigMap(join(root, 'ratelimit', 'config'));
  redis = await startRedis();
  weir = await startWeir({
    command: [resolve(DEPLOY, 'bin', 'ratelimit')],
    env: {
      WEIR_HOME: resolve(DEPLOY, '..'),
      RUNTIME_ROOT: root,
      RUNTIME_SUBDIRECTORY: 'ratelimit',
      RUNTIME_APPDIRECTORY: 'config',
      BACKEND_TYPE: 'redis',
      REDIS_SOCKET_TYPE: 'tcp',
      REDIS_URL: `127.0.0.1:${redis.port}`,
      // This is about where things are found, not about time.
      REDIS_OP_TIMEOUT: '1s',
    },
  });
  const entries = [
    { key: 'path', value: '/login' },
    { key: 'client', value: 'c' },
  ];
  const { status, body } = await httpRequest(`http://127.0.0.1:${weir.httpPort}/json`, {
    headers: { 'content-type': 'application/json' },
    body: { domain: 'payments', descriptors: [{ entries }] },
  });
  expect(status).toBe(200);
  // A limit of the example was found: an unknown domain or rule would answer OK without one.
  expect(body).toContain('currentLimit');
  expect(await weir.stop()).toBe(0);
});

/** As Kubernetes mounts one: the files in a folder with a time for its name, and two steps of symlinks to them. */
function mountConfigMap(folder: string): void {
  const version = '..2026_11_21_08_00_00.123456789';
  mkdirSync(join(folder, version), { recursive: true });
  copyFileSync(resolve(DEPLOY, 'example', 'payments.yaml'), join(folder, version, 'payments.yaml'));
  symlinkSync(version, join(folder, '..data'));
  symlinkSync(join('..data', 'payments.yaml'), join(folder, 'payments.yaml'));
}
