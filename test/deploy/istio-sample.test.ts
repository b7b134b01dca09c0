/** Istio's sample runs with its own command, environment and files after its image is replaced. */
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { runCommand } from '../support/processes/command';
import { httpRequest } from '../support/clients/http-client';
import { startRedis, type RedisServer } from '../support/redis/redis-server';
import { OK, OVER_LIMIT, RlsClient } from '../support/clients/rls-client';
import { startWeir, type WeirProcess } from '../support/processes/weir-process';
import { DEPLOY } from './manifests';

/** The ConfigMap that the sample asks for. */
const CONFIG = `domain: echo-ratelimit
descriptors:
  - key: PATH
    value: "/"
    rate_limit:
      unit: minute
      requests_per_unit: 1
  - key: PATH
    rate_limit:
      unit: minute
      requests_per_unit: 100
`;

const WEIR_HOME = resolve(DEPLOY, '..');
const root = mkdtempSync(join(tmpdir(), 'weir-istio-'));
let redis: RedisServer;
let weir: WeirProcess;

beforeAll(async () => {
  mountConfigMap(join(root, 'ratelimit', 'config'));
  redis = await startRedis();
  weir = await startWeir({
    command: [resolve(DEPLOY, 'bin', 'ratelimit')],
    env: {
      WEIR_HOME,
      LOG_LEVEL: 'debug',
      REDIS_SOCKET_TYPE: 'tcp',
      // Of the test: its Redis is not named redis, and its folder is not /data.
      REDIS_URL: `127.0.0.1:${redis.port}`,
      RUNTIME_ROOT: root,
      USE_STATSD: 'false',
      RUNTIME_SUBDIRECTORY: 'ratelimit',
      RUNTIME_WATCH_ROOT: 'false',
      RUNTIME_IGNOREDOTFILES: 'true',
      HOST: '::',
      GRPC_HOST: '::',
      // This is about what is understood, not about time.
      REDIS_OP_TIMEOUT: '1s',
    },
  });
});

afterAll(async () => {
  await weir.stop();
  await redis.stop();
  rmSync(root, { recursive: true, force: true });
});

/** As the kubelet mounts one at /data/ratelimit/config. */
function mountConfigMap(folder: string): void {
  const version = '..2026_11_21_08_00_00.123456789';
  mkdirSync(join(folder, version), { recursive: true });
  writeFileSync(join(folder, version, 'config.yaml'), CONFIG);
  symlinkSync(version, join(folder, '..data'));
  symlinkSync(join('..data', 'config.yaml'), join(folder, 'config.yaml'));
}

function client(...args: readonly string[]) {
  return runCommand(resolve(DEPLOY, 'bin', 'ratelimit_client'), args, { env: { WEIR_HOME } });
}

test("Weir serves the sample's limits in fixed windows: the second request to / in a minute is denied", async () => {
  const rls = new RlsClient(weir.grpcPort);
  const ask = async () => rls.ask('echo-ratelimit', [{ entries: { PATH: '/' } }]);
  // A minute may end between two of them: of three, two are in one minute.
  const codes = [(await ask()).overall_code, (await ask()).overall_code, (await ask()).overall_code];
  rls.close();
  expect(codes[0]).toBe(OK);
  expect(codes).toContain(OVER_LIMIT);
  const { body } = await httpRequest(`http://127.0.0.1:${weir.debugPort}/rlconfig`);
  expect(body).toContain(
    'echo-ratelimit.PATH_/: unit=MINUTE requests_per_unit=1, shadow_mode: false, quota_mode: false, algorithm: fixed_window',
  );
});

test('/healthcheck answers OK over IPv6 and IPv4, since HOST is ::', async () => {
  for (const host of ['127.0.0.1', '[::1]']) {
    expect(await httpRequest(`http://${host}:${weir.httpPort}/healthcheck`)).toMatchObject({ status: 200, body: 'OK' });
  }
});

test('Weir accepts all of the sample and names each variable that has no effect', () => {
  expect(weir.output()).not.toMatch(/USE_STATSD|RUNTIME_WATCH_ROOT|RUNTIME_IGNOREDOTFILES|ERROR/);
});

test("/bin/ratelimit_client calls the server with the reference's flags", async () => {
  const answered = await client(
    '-dial_string',
    `127.0.0.1:${weir.grpcPort}`,
    '-domain',
    'echo-ratelimit',
    '-descriptors',
    'PATH=/other',
    '-descriptors',
    'PATH=/another,x=y',
  );
  expect(answered).toMatchObject({ exitCode: 0, stderr: '' });
  expect(answered.stdout).toMatch(
    /^response: overall_code:OK statuses:\{code:OK current_limit:\{requests_per_unit:100 unit:MINUTE\} limit_remaining:99 duration_until_reset:\{seconds:\d+\}\} statuses:\{code:OK\}\n$/,
  );
});

test('/bin/ratelimit_client prints the error and exits with 1; bad flags print the usage', async () => {
  const [nobody, empty, unknown] = [
    await client('-dial_string=127.0.0.1:1', '-domain', 'd', '-descriptors', 'a=b'),
    await client('-dial_string', `127.0.0.1:${weir.grpcPort}`, '-descriptors', 'a=b'),
    await client('-dail_string', 'x'),
  ];
  expect(nobody).toMatchObject({ exitCode: 1, stdout: expect.stringMatching(/^request error: 14 UNAVAILABLE/) as string });
  expect(empty).toMatchObject({ exitCode: 1, stdout: 'request error: 3 INVALID_ARGUMENT: rate limit domain must not be empty\n' });
  expect(unknown).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('flag provided but not defined: -dail_string') as string });
});
