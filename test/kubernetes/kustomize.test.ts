/** The kustomize base, components and overlay build what Helm makes of the same values. */
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { DEPLOY } from '../deploy/manifests';
import { mergeValues } from '../support/kubernetes/features';
import { renderText, type Values } from '../support/kubernetes/helm';
import { conformanceOf, kubernetesVersions } from '../support/kubernetes/kubeconform';
import { buildComponents, buildText, normalized } from '../support/kubernetes/kustomize';
import { runCommand } from '../support/processes/command';

const FOLDER = join(DEPLOY, 'kubernetes');
const GENERATOR = resolve(DEPLOY, '..', 'scripts', 'generate', 'kubernetes.mjs');

const COMMON: Values = { fullnameOverride: 'weir', serviceAccount: { create: false }, test: { enabled: false } };
const BASE: Values = mergeValues(COMMON, { config: { example: true }, redis: { url: 'weir-redis:6379' } });
const PEER = (name: string): unknown => [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': name } } }];

const COMPONENTS: Readonly<Record<string, Values>> = {
  admin: { admin: { enabled: true, tokens: { existingSecret: 'weir-admin-tokens' } } },
  autoscaling: { autoscaling: { enabled: true } },
  monitoring: { monitoring: { podMonitor: { enabled: true }, rules: { enabled: true } } },
  'network-policy': { networkPolicy: { enabled: true, gateways: PEER('istio-system'), prometheus: PEER('monitoring') } },
  'redis-password': { redis: { auth: { existingSecret: 'weir-redis-password' } } },
  'redis-tls': { redis: { tls: { enabled: true, existingSecret: 'weir-redis-tls' } } },
  tls: { tls: { enabled: true, existingSecret: 'weir-tls', clients: { verify: true } } },
};

function folderOf(component: string): string {
  return join(FOLDER, 'components', component);
}

function filesOf(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.yaml'));
}

test('the manifests are up to date with the chart; if not, run node scripts/generate/kubernetes.mjs', async () => {
  const out = mkdtempSync(join(tmpdir(), 'weir-kustomize-'));
  try {
    const { exitCode, stderr } = await runCommand(process.execPath, [GENERATOR, '--out', out]);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    const stale = filesOf(out).filter((file) => readFileSync(join(out, file), 'utf8') !== readFileSync(join(FOLDER, file), 'utf8'));
    expect(stale).toEqual([]);
    // Written by hand: the entry, and the overlay that users copy, with the tests of its limits.
    const byHand = filesOf(FOLDER).filter((file) => !filesOf(out).includes(file));
    expect(byHand.sort()).toEqual([
      'kustomization.yaml',
      ...['kustomization.yaml', 'limits.test.yaml', 'limits.yaml'].map((name) => `overlays/example/${name}`),
    ]);
  } finally {
    rmSync(out, { recursive: true });
  }
});

test('kubectl apply -k deploy/kubernetes is the chart with the example limits and a Redis for a try', async () => {
  const built = normalized(await buildText(FOLDER));
  expect(built).toEqual(
    normalized(await renderText({ values: mergeValues(COMMON, { config: { example: true }, redis: { demo: { enabled: true } } }) })),
  );
  expect(Object.keys(built)).toEqual([
    'ConfigMap weir-config',
    'Deployment weir',
    'Deployment weir-redis',
    'PodDisruptionBudget weir',
    'Service weir',
    'Service weir-headless',
    'Service weir-redis',
  ]);
});

test('each component of kustomize makes what its values make', async () => {
  expect(readdirSync(join(FOLDER, 'components')).sort()).toEqual(Object.keys(COMPONENTS));
  for (const [component, values] of Object.entries(COMPONENTS)) {
    const built = normalized(await buildComponents(join(FOLDER, 'base'), [folderOf(component)]));
    expect({ component, built }).toEqual({ component, built: normalized(await renderText({ values: mergeValues(BASE, values) })) });
  }
});

test('all components together make what all values together make', async () => {
  const values = Object.values(COMPONENTS).reduce(mergeValues, BASE);
  expect(normalized(await buildComponents(join(FOLDER, 'base'), Object.keys(COMPONENTS).map(folderOf)))).toEqual(
    normalized(await renderText({ values })),
  );
});

test('the example overlay is the chart with limits, image, Redis and certificates of its own', async () => {
  const limits = readFileSync(join(FOLDER, 'overlays', 'example', 'limits.yaml'), 'utf8');
  const own: Values = {
    namespaceOverride: 'limits',
    config: { example: false, files: { 'limits.yaml': limits } },
    image: { repository: 'registry.example/weir' },
    replicas: 3,
    redis: { url: 'redis.example:6379' },
  };
  const values = [COMPONENTS['redis-password']!, COMPONENTS.tls!, COMPONENTS.monitoring!, own].reduce(mergeValues, BASE);
  expect(normalized(await buildText(join(FOLDER, 'overlays', 'example')))).toEqual(normalized(await renderText({ values })));
});

test('the rate limit service for Envoy AI Gateway is the chart with its preset', async () => {
  const written = readFileSync(join(FOLDER, 'ai-gateway', 'rate-limit.yaml'), 'utf8');
  expect(normalized(written)).toEqual(
    normalized(await renderText({ preset: 'ai-gateway', values: { serviceAccount: { create: false } } })),
  );
});

test('what kustomize builds conforms to the schemas of Kubernetes', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'weir-built-'));
  try {
    const all = await buildComponents(join(FOLDER, 'base'), Object.keys(COMPONENTS).map(folderOf));
    const texts = [all, await buildText(join(FOLDER, 'overlays', 'example'))];
    const files = texts.map((text, place) => {
      const file = join(folder, `${place}.yaml`);
      writeFileSync(file, text);
      return file;
    });
    const { count, problems } = await conformanceOf(files, { version: kubernetesVersions().at(-1)! });
    expect(problems).toEqual([]);
    expect(count).toBeGreaterThan(15);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
