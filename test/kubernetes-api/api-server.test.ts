/** A real kube-apiserver accepts all objects of the chart and of kustomize, in a restricted namespace. */
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { DEPLOY } from '../deploy/manifests';
import { until } from '../support/clock/until';
import { figure } from '../support/docs/figure';
import { startApiServer, type ApiAnswer, type ApiServer } from '../support/kubernetes/api-server';
import { randomFeatures, singleFeatures, valuesOf } from '../support/kubernetes/features';
import { CHART, PRESETS, helm, objectsOf, render, type Rendered, type Values } from '../support/kubernetes/helm';
import { buildComponents, buildText } from '../support/kubernetes/kustomize';
import { podsOf } from '../support/kubernetes/pods';
import type { CommandResult } from '../support/processes/command';
import { installed } from '../support/processes/installed';
import { randomFrom, seededInFull } from '../support/random/random';

const NAMESPACES = ['limits', 'other', 'envoy-gateway-system'];
const KUSTOMIZE = join(DEPLOY, 'kubernetes');

let server: ApiServer;

beforeAll(async () => {
  server = await startApiServer();
  await defineCustomResources();
  for (const name of NAMESPACES) {
    const labels = { 'pod-security.kubernetes.io/enforce': 'restricted', 'pod-security.kubernetes.io/warn': 'restricted' };
    const { status } = await server.send({
      method: 'POST',
      path: '/api/v1/namespaces',
      body: { apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } },
    });
    expect(status).toBe(201);
  }
});

afterAll(async () => {
  await server.stop();
});

interface Definition {
  readonly spec: { readonly names: { readonly plural: string } };
}

async function defineCustomResources(): Promise<void> {
  const folder = join(installed('WEIR_KUBERNETES_SCHEMAS', 'install/kubernetes/schemas.mjs'), 'definitions', 'prometheus-operator');
  const plurals: string[] = [];
  for (const file of readdirSync(folder)) {
    const definition = parseAllDocuments(readFileSync(join(folder, file), 'utf8'))[0]!.toJS() as Rendered;
    const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
    expect((await server.send({ method: 'POST', path, body: definition })).status).toBe(201);
    plurals.push((definition as unknown as Definition).spec.names.plural);
  }
  // The server serves them one after the other.
  await until(async () => {
    const { status, body } = await server.send({ method: 'GET', path: '/apis/monitoring.coreos.com/v1' });
    const served = status === 200 ? (body.resources as readonly { readonly name: string }[]).map(({ name }) => name) : [];
    return plurals.every((plural) => served.includes(plural));
  });
}

/** As `kubectl apply --server-side --dry-run=server --validate=strict`. */
function dryRun(object: Rendered): Promise<ApiAnswer> {
  return server.send({
    method: 'PATCH',
    path: `${pathOf(object)}?dryRun=All&fieldManager=test&fieldValidation=Strict&force=true`,
    body: object,
  });
}

function pathOf({ apiVersion, kind, metadata }: Rendered): string {
  const group = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  const plural = /[^aeiou]y$/.test(kind) ? `${kind.slice(0, -1)}ies` : `${kind}s`;
  return `${group}/namespaces/${metadata.namespace ?? 'limits'}/${plural.toLowerCase()}/${metadata.name}`;
}

/** Every object, and every pod by itself, since the profile refuses pods alone. */
async function checkAll(name: string, objects: readonly Rendered[]): Promise<number> {
  const pods = podsOf(objects).filter(({ container }) => container !== 'test');
  const bare = pods.map(({ container, labels, spec }): Rendered => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: container, labels },
    spec,
  }));
  for (const object of [...objects, ...bare]) {
    const { status, body, warnings } = await dryRun(object);
    expect({ name, object: object.metadata.name, kind: object.kind, status, warnings, message: body.message }).toMatchObject({
      status: 201,
      warnings: [],
      message: undefined,
    });
  }
  return objects.length + bare.length;
}

test('a real API server takes each preset, each feature and random combinations of features, in a namespace with the profile restricted', async () => {
  const { numRuns, seed } = seededInFull(100);
  const random = randomFrom({ seed });
  const combinations = Array.from({ length: numRuns }, () => randomFeatures(random));
  let count = 0;
  for (const preset of PRESETS) count += await checkAll(preset, await render({ preset }));
  for (const features of [...singleFeatures(), ...combinations])
    count += await checkAll(features.map(({ name }) => name).join(', '), await render({ values: valuesOf(features) }));
  figure(`${count} objects`);
});

test('a real API server takes what kustomize builds', async () => {
  const components = readdirSync(join(KUSTOMIZE, 'components')).map((name) => join(KUSTOMIZE, 'components', name));
  await checkAll('kustomization', objectsOf(await buildText(KUSTOMIZE)));
  await checkAll('overlay', objectsOf(await buildText(join(KUSTOMIZE, 'overlays', 'example'))));
  await checkAll('components', objectsOf(await buildComponents(join(KUSTOMIZE, 'base'), components)));
});

test('a real API server refuses a pod without the restrictions, and an unknown field', async () => {
  const objects = await render({ preset: 'standalone' });
  const deployment = objects.find(({ kind, metadata }) => kind === 'Deployment' && metadata.name === 'weir')!;
  const unknown = await dryRun({ ...deployment, spec: { ...(deployment.spec as object), replicsa: 2 } });
  expect(unknown).toMatchObject({
    status: expect.any(Number) as unknown,
    body: { message: expect.stringContaining('replicsa') as unknown },
  });
  const [pod] = podsOf([deployment]);
  const spec = {
    ...pod!.spec,
    securityContext: {},
    containers: pod!.spec.containers.map((container) => ({ ...container, securityContext: {} })),
  };
  const unrestricted = await dryRun({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'weir', labels: {} }, spec });
  expect(unrestricted).toMatchObject({
    status: 403,
    body: { message: expect.stringContaining('violates PodSecurity "restricted') as unknown },
  });
});

describe('helm install, upgrade and rollback', () => {
  const folder = mkdtempSync(join(tmpdir(), 'weir-release-'));

  afterAll(() => {
    rmSync(folder, { recursive: true });
  });

  /** Hooks would wait for a kubelet. */
  function release(command: readonly string[], values?: Values): Promise<CommandResult> {
    const file = join(folder, 'values.json');
    writeFileSync(file, JSON.stringify(values ?? {}));
    return helm([
      ...command,
      '--no-hooks',
      '--namespace',
      'limits',
      '--kubeconfig',
      server.kubeconfig,
      ...(values === undefined ? [] : ['--values', file]),
    ]);
  }

  async function generationAndLimits(): Promise<{ readonly generation: number; readonly limits: string }> {
    const deployment = await server.send({ method: 'GET', path: '/apis/apps/v1/namespaces/limits/deployments/weir' });
    const configMap = await server.send({ method: 'GET', path: '/api/v1/namespaces/limits/configmaps/weir-config' });
    const { generation } = deployment.body.metadata as { generation: number };
    return { generation, limits: (configMap.body.data as Record<string, string>)['shop.yaml']! };
  }

  test('the notes say the next command, a change of limits alone starts no new pods, and a rollback brings the old ones back', async () => {
    const values = (limits: string): Values => ({ config: { files: { 'shop.yaml': limits } }, redis: { url: 'redis:6379' } });
    const installedRelease = await release(['install', 'weir', CHART], values('domain: shop\n'));
    expect(installedRelease).toMatchObject({ exitCode: 0, stderr: '' });
    expect(installedRelease.stdout).toContain('kubectl -n limits rollout status deployment/weir');
    expect(installedRelease.stdout).toContain('helm -n limits test weir --logs');
    const first = await generationAndLimits();
    expect(await release(['upgrade', 'weir', CHART], values('domain: shop\ndescriptors:\n- key: user\n'))).toMatchObject({ exitCode: 0 });
    expect(await generationAndLimits()).toEqual({ generation: first.generation, limits: 'domain: shop\ndescriptors:\n- key: user\n' });
    expect(await release(['rollback', 'weir', '1'])).toMatchObject({ exitCode: 0 });
    expect(await generationAndLimits()).toEqual(first);
    expect(await release(['uninstall', 'weir'])).toMatchObject({ exitCode: 0 });
  });
});
