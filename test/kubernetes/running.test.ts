/** A Weir with the environment of a rendered pod serves and passes `helm test`, and bad limits stop an upgrade. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { httpRequest } from '../support/clients/http-client';
import { mergeValues } from '../support/kubernetes/features';
import { render, type Rendered, type Values } from '../support/kubernetes/helm';
import { LIMITS, PASSWORD, TOKEN, mountedOf } from '../support/kubernetes/example-cluster';
import type { Data, MountedPod } from '../support/kubernetes/mounted-pod';
import { podOf, podsOf } from '../support/kubernetes/pods';
import { runCommand } from '../support/processes/command';
import { startWeir, type WeirProcess } from '../support/processes/weir-process';
import { makeTestClient } from '../support/redis/redis-store';
import { startRedis, type RedisServer } from '../support/redis/redis-server';
import { freePort } from '../support/servers/ports';

/** What a test can't have as it is in a container: its ports are free ones. */
const PORTS = ['PORT', 'GRPC_PORT', 'DEBUG_PORT'];

/** Warnings about this machine, or that the values ask for. */
const EXPECTED_WARNINGS = ['the limit on open files is', 'without ADMIN_TLS_CERT tokens travel in clear text'];

let redis: RedisServer;
let openRedis: RedisServer;

beforeAll(async () => {
  [redis, openRedis] = await Promise.all([startRedis(), startRedis()]);
  const admin = makeTestClient(redis.port);
  await admin.connect();
  await admin.configSet('requirepass', PASSWORD);
  admin.destroy();
});

afterAll(async () => {
  await Promise.all([redis.stop(), openRedis.stop()]);
});

interface Running {
  readonly weir: WeirProcess;
  readonly objects: readonly Rendered[];
  readonly env: Readonly<Record<string, string>>;
  readonly pod: MountedPod;
}

/** Starts Weir with the environment of the pod, at other addresses. */
async function run(values: Values, addresses: Readonly<Record<string, string>>): Promise<Running> {
  const objects = await render({ values });
  const pod = mountedOf(objects, 'weir');
  const ports = podOf(objects, 'weir').spec.containers[0]!.ports!;
  // Those of the environment are what the Services and probes name.
  expect(ports.slice(0, 3).map(({ containerPort }) => String(containerPort))).toEqual(PORTS.map((name) => pod.env[name]));
  const kept = Object.entries(pod.env).filter(([name]) => !PORTS.includes(name));
  const env = { ...(Object.fromEntries(kept) as Record<string, string>), DRAIN_DELAY: '0s', REDIS_OP_TIMEOUT: '1s', ...addresses };
  return { weir: await startWeir({ command: pod.command, env }), objects, env, pod };
}

/** The pod of `helm test` against it. */
async function helmTest({ weir, objects }: Running, env: Readonly<Record<string, string>> = {}): ReturnType<typeof runCommand> {
  const pod = mountedOf(objects, 'test');
  const [program, ...args] = pod.command;
  const result = await runCommand(program, args, { env: { ...pod.env, WEIR_ADDRESS: `localhost:${weir.grpcPort}`, ...env } });
  pod.remove();
  return result;
}

function unexpectedWarnings(output: string): readonly string[] {
  const lines = output.split('\n').filter((line) => /\b(WARN|ERROR)\b/.test(line));
  return lines.filter((line) => !EXPECTED_WARNINGS.some((warning) => line.includes(warning)));
}

test('the pods of the preset standalone serve without a warning, decide once and deny once', async () => {
  const objects = await render({ preset: 'standalone' });
  const running = await run(
    { fullnameOverride: 'weir', config: { example: true }, redis: { demo: { enabled: true } } },
    { REDIS_URL: `127.0.0.1:${openRedis.port}` },
  );
  try {
    expect(podOf(running.objects, 'weir')).toEqual(podOf(objects, 'weir'));
    expect(unexpectedWarnings(running.weir.output())).toEqual([]);
    // What the probe asks, and what http.json leaves off.
    expect((await httpRequest(`http://127.0.0.1:${running.weir.httpPort}/healthcheck`)).status).toBe(200);
    expect((await httpRequest(`http://127.0.0.1:${running.weir.httpPort}/json`, { method: 'POST', body: '{}' })).status).toBe(404);
    expect(await helmTest(running)).toMatchObject({
      exitCode: 0,
      stderr: '',
      stdout: expect.stringContaining('"overallCode":"OVER_LIMIT"') as unknown,
    });
    // A second run has a key of its own.
    expect(await helmTest(running)).toMatchObject({ exitCode: 0 });
    const unknownDomain = await helmTest(running, { WEIR_DOMAIN: 'nowhere' });
    expect(unknownDomain).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('test.domain') as unknown });
  } finally {
    expect(await running.weir.stop()).toBe(0);
    running.pod.remove();
  }
});

test('pods with TLS, client certificates, password files, a second Redis and the admin API serve without a warning and pass helm test', async () => {
  const values: Values = {
    config: { files: { 'shop.yaml': LIMITS } },
    redis: {
      url: 'redis:6379',
      auth: { existingSecret: 'a-secret' },
      perSecond: { enabled: true, url: 'fast:6379', auth: { existingSecret: 'a-secret' } },
    },
    tls: { enabled: true, existingSecret: 'a-secret', clients: { verify: true, testSecret: 'a-secret' } },
    admin: { enabled: true, tokens: { existingSecret: 'a-secret' } },
    controlData: true,
    settings: { LOG_FORMAT: 'text', RESPONSE_HEADERS: 'ietf' },
  };
  const adminPort = await freePort();
  const address = `127.0.0.1:${redis.port}`;
  const running = await run(values, {
    REDIS_URL: address,
    REDIS_PERSECOND_URL: address,
    ADMIN_HOST: '127.0.0.1',
    ADMIN_PORT: String(adminPort),
  });
  try {
    expect(unexpectedWarnings(running.weir.output())).toEqual([]);
    expect(await helmTest(running)).toMatchObject({ exitCode: 0, stderr: '' });
    // Without its certificate the client gets no answer.
    expect(await helmTest(running, { WEIR_TLS_FLAGS: '' })).toMatchObject({ exitCode: 1 });
    const url = `http://127.0.0.1:${adminPort}/v1/instances`;
    expect((await httpRequest(url)).status).toBe(401);
    expect((await httpRequest(url, { headers: { authorization: `Bearer ${TOKEN}` } })).status).toBe(200);
  } finally {
    expect(await running.weir.stop()).toBe(0);
    running.pod.remove();
  }
});

test('spans name the pod, unless a value names something else', async () => {
  const NAME = 'TRACING_SERVICE_INSTANCE_ID';
  const instance = async (values: Values) => {
    const objects = await render({
      values: mergeValues({ redis: { url: 'redis:6379' }, config: { files: { 'a.yaml': LIMITS } } }, values),
    });
    return podOf(objects, 'weir').spec.containers[0]!.env!.filter(({ name }) => name === NAME);
  };
  const traced = { settings: { TRACING_ENABLED: true } };
  expect(await instance({})).toEqual([]);
  expect(await instance(traced)).toEqual([{ name: NAME, valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }]);
  expect(await instance({ settings: { TRACING_ENABLED: true, [NAME]: 'own' } })).toEqual([{ name: NAME, value: 'own' }]);
  expect(await instance({ ...traced, extraEnv: [{ name: NAME, value: 'own' }] })).toEqual([{ name: NAME, value: 'own' }]);
});

test('the pod of helm test ends the sidecar of its mesh, whether the test passes or not', async () => {
  const asked: string[] = [];
  const sidecar = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    response.end();
  });
  await new Promise<void>((resolve) => sidecar.listen(0, '127.0.0.1', resolve));
  const { port } = sidecar.address() as AddressInfo;
  const objects = await render({ preset: 'istio' });
  const pod = mountedOf(objects, 'test');
  const [program, ...args] = pod.command;
  expect(podOf(objects, 'test').labels).toMatchObject({ 'sidecar.istio.io/inject': 'true' });
  expect(pod.env.WEIR_SIDECAR_QUIT_URL).toBe('http://127.0.0.1:15020/quitquitquit');
  const env = { ...pod.env, WEIR_SIDECAR_QUIT_URL: `http://127.0.0.1:${port}/quitquitquit`, WEIR_ADDRESS: '127.0.0.1:1' };
  expect(await runCommand(program, args, { env })).toMatchObject({ exitCode: 1 });
  expect(asked).toEqual(['POST /quitquitquit']);
  pod.remove();
  sidecar.close();
});

interface CheckOptions {
  readonly strict?: boolean;
  readonly values?: Values;
  /** Objects that the cluster does not have yet. */
  readonly missing?: readonly string[];
}

describe('the check before an install or upgrade', () => {
  async function check(files: Data, { strict = true, values = {}, missing = [] }: CheckOptions = {}): ReturnType<typeof runCommand> {
    const common: Values = { config: { files, check: { strict } }, redis: { url: 'redis:6379' } };
    const objects = await render({ values: mergeValues(common, values) });
    const pod = mountedOf(objects, 'check', missing);
    const [program, ...args] = pod.command;
    const result = await runCommand(program, args, { env: pod.env });
    pod.remove();
    return result;
  }

  test('passes limits that load', async () => {
    expect(await check({ 'shop.yaml': LIMITS })).toMatchObject({ exitCode: 0 });
  });

  test('stops limits that do not load, and names the file and line', async () => {
    const { exitCode, stderr, stdout } = await check({ 'shop.yaml': LIMITS.replace('minute', 'minuet') });
    expect(exitCode).toBe(1);
    expect(stdout + stderr).toMatch(/shop\.yaml:4:.*minuet/);
  });

  test('stops for a warning only if it is strict', async () => {
    const files = { 'shop.yaml': LIMITS.replace(', requests_per_unit: 5', '') };
    expect(await check(files)).toMatchObject({ exitCode: 1 });
    expect(await check(files, { strict: false })).toMatchObject({ exitCode: 0 });
  });

  test('has the settings of the pods: with MERGE_DOMAIN_CONFIG two files may have one domain', async () => {
    const files = { 'a.yaml': LIMITS, 'b.yaml': LIMITS.replace('user', 'team') };
    expect(await check(files)).toMatchObject({ exitCode: 1 });
    expect(await check(files, { values: { settings: { MERGE_DOMAIN_CONFIG: true } } })).toMatchObject({ exitCode: 0 });
  });

  test('stops settings with which Weir would not start, though the limits load', async () => {
    const { exitCode, stdout } = await check(
      { 'shop.yaml': LIMITS },
      { values: { settings: { TRACING_ENABLED: true, OTEL_RESOURCE_ATTRIBUTES: 'a' } } },
    );
    expect(exitCode).toBe(1);
    expect(stdout).toMatch(/OTEL_RESOURCE_ATTRIBUTES: .*use name=value/);
  });

  test('reads the files of Secrets, as the pods do', async () => {
    const values: Values = {
      tls: { enabled: true, existingSecret: 'a-secret' },
      admin: { enabled: true, tokens: { existingSecret: 'a-secret' } },
    };
    expect(await check({ 'shop.yaml': LIMITS }, { values })).toMatchObject({ exitCode: 0 });
  });

  test('does not wait for a Secret or ConfigMap that the release itself makes: it names them and checks the rest', async () => {
    const values: Values = {
      config: { configMaps: [{ name: 'limits' }] },
      redis: { url: null, urlSecret: { name: 'a-secret' }, auth: { existingSecret: 'a-secret' } },
      extraEnvFrom: [{ secretRef: { name: 'a-secret' } }],
      extraVolumes: [{ name: 'own', secret: { secretName: 'a-secret' } }],
      extraVolumeMounts: [{ name: 'own', mountPath: '/etc/own' }],
    };
    const missing = ['a-secret', 'limits'];
    const { exitCode, stdout } = await check({ 'shop.yaml': LIMITS }, { values, missing });
    expect({ exitCode, stdout }).toMatchObject({ exitCode: 0 });
    for (const named of ['The Secret a-secret does not exist yet', 'The ConfigMap limits does not exist yet', 'ok: 1 domain'])
      expect(stdout).toContain(named);
    expect(await check({ 'shop.yaml': LIMITS.replace('minute', 'minuet') }, { values, missing })).toMatchObject({ exitCode: 1 });
    const job = podsOf(await render({ values: mergeValues({ config: { files: { 'shop.yaml': LIMITS } } }, values) })).find(
      ({ container }) => container === 'check',
    )!;
    const { volumes = [], containers } = job.spec;
    const named = volumes.flatMap(({ configMap, secret }) => configMap ?? secret ?? []);
    expect(named.map(({ optional }) => optional)).toEqual([true, true, true, true]);
    expect(JSON.stringify(containers[0]!.env)).toContain('"optional":true');
    expect(containers[0]!.envFrom).toEqual([{ secretRef: { name: 'a-secret', optional: true } }]);
  });

  test('limits of two teams in two ConfigMaps are checked and served together', async () => {
    const values: Values = { config: { configMaps: [{ name: 'limits' }], files: { 'own.yaml': LIMITS.replace('shop', 'own') } } };
    const { exitCode, stdout } = await check({}, { values });
    expect({ exitCode, stdout }).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('ok: 2 domains') as unknown });
  });

  test('limits from a management server leave the settings to check', async () => {
    const values: Values = { config: { source: 'xds', files: null, xds: { server: 'control:18000' } } };
    const { exitCode, stdout } = await check({}, { values });
    expect({ exitCode, stdout }).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('GRPC_XDS_SOTW') as unknown });
  });

  test('runs before the ConfigMap of the pods changes, with a copy of the new limits', async () => {
    const objects = await render({ values: { config: { files: { 'shop.yaml': LIMITS } }, redis: { url: 'redis:6379' } } });
    const hooks = objects.filter(({ metadata }) => metadata.annotations?.['helm.sh/hook'] === 'pre-install,pre-upgrade');
    expect(hooks.map(({ kind, metadata }) => [kind, metadata.annotations?.['helm.sh/hook-weight']])).toEqual([
      ['ConfigMap', '-10'],
      ['Job', '-5'],
    ]);
    expect(podsOf(hooks)[0]!.spec.volumes![0]!.configMap!.name).toBe(hooks[0]!.metadata.name);
  });
});
