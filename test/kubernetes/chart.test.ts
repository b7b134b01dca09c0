/** Each preset and any combination of features of the chart conform to the schemas, and Weir takes their environment. */
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync, cpSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { problemsOfStart } from '../../src/program/app/start/read-start';
import { settingsInForce } from '../../src/configuration/settings/settings-in-force';
import { SETTINGS_TABLE } from '../../src/configuration/settings/table/settings-table';
import { figure } from '../support/docs/figure';
import { mountedOf } from '../support/kubernetes/example-cluster';
import { randomFeatures, singleFeatures, valuesOf, type Feature } from '../support/kubernetes/features';
import { CHART, PRESETS, helm, objectsOf, presetFiles, renderText, type Release, type Rendered } from '../support/kubernetes/helm';
import { conformanceOf, kubernetesVersions } from '../support/kubernetes/kubeconform';
import { podsOf } from '../support/kubernetes/pods';
import { runCommand } from '../support/processes/command';
import { isLong } from '../support/random/form';
import { randomFrom, seededInFull } from '../support/random/random';

/** Each takes Helm a tenth of a second, and kubeconform as long. */
const COMBINATIONS = 16;
const COMBINATIONS_LONG = 400;

const ROOT = resolve(__dirname, '..', '..');
const SETTINGS = new Set(Object.values(SETTINGS_TABLE).map(({ name }) => name));

test('the schema, the README and the files of the chart are up to date; if not, run node scripts/generate/chart.mjs', async () => {
  const copy = mkdtempSync(join(tmpdir(), 'weir-chart-'));
  try {
    cpSync(CHART, copy, { recursive: true });
    const { exitCode, stderr } = await runCommand(process.execPath, [join(ROOT, 'scripts', 'generate', 'chart.mjs'), '--chart', copy]);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    const files = readdirSync(copy, { recursive: true, encoding: 'utf8' }).filter((file) => /\.[a-z]+$/.test(file));
    const stale = files.filter((file) => readFileSync(join(copy, file), 'utf8') !== readFileSync(join(CHART, file), 'utf8'));
    expect(stale).toEqual([]);
    expect(files).toContain('values.schema.json');
  } finally {
    rmSync(copy, { recursive: true });
  }
});

test('the chart has the version of the package', () => {
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };
  const chart = readFileSync(join(CHART, 'Chart.yaml'), 'utf8');
  expect(chart).toContain(`\nversion: ${version}\n`);
  expect(chart).toContain(`\nappVersion: ${version}\n`);
});

test('the CPU request of the chart names the figures of docs/sizing.md', () => {
  const sizing = readFileSync(join(ROOT, 'docs', 'sizing.md'), 'utf8');
  const costOf = (rate: string): string => new RegExp(`^\\| ${rate} \\| ([\\d.]+) µs`, 'm').exec(sizing)![1]!;
  const carried = Math.floor(0.5 / (Number(costOf('10,000')) * 1e-6) / 100) * 100;
  expect(readFileSync(join(CHART, 'values.yaml'), 'utf8')).toContain(
    `A decision takes ${costOf('10,000')} µs at 10,000 in a second, and ${costOf('2,000')} µs at 2,000 (docs/sizing.md), so 500m carry about ${carried.toLocaleString('en-US')} in a second.`,
  );
});

test.each([undefined, ...PRESETS])('helm lint --strict finds nothing (preset %s)', async (preset) => {
  const values = preset === 'istio' ? ['--set', 'config.existingConfigMap=limits,redis.url=redis:6379'] : [];
  const { exitCode, stdout } = await helm([
    'lint',
    '--strict',
    CHART,
    ...values,
    ...presetFiles(preset).flatMap((file) => ['--values', file]),
  ]);
  expect(stdout).toContain('0 chart(s) failed');
  expect(exitCode).toBe(0);
});

describe('presets and combinations of features', () => {
  const folder = mkdtempSync(join(tmpdir(), 'weir-matrix-'));

  afterAll(() => {
    rmSync(folder, { recursive: true });
  });

  /** What must hold of any combination, and that its version of Kubernetes takes it. */
  async function checkAll(releases: readonly Tried[]): Promise<void> {
    const versions = kubernetesVersions();
    const paths = new Map<string, string[]>(versions.map((version) => [version, []]));
    for (const [place, release] of releases.entries()) {
      const { kubernetes } = release;
      const text = await renderText({ ...release, kubernetes });
      const path = join(folder, `${releases.length}-${place} ${release.name.replaceAll(/[^A-Za-z0-9]+/g, '-').slice(0, 100)}.yaml`);
      writeFileSync(path, text);
      paths.get(kubernetes)?.push(path);
      const objects = objectsOf(text);
      checkObjects(objects, release.name);
      await checkEnvironment(objects, release.name);
    }
    let count = 0;
    for (const [version, files] of paths) {
      if (files.length === 0) continue;
      const conformance = await conformanceOf(files, { version });
      expect({ version, problems: conformance.problems }).toEqual({ version, problems: [] });
      count += conformance.count;
    }
    figure(`${releases.length} sets of values, ${count} objects, Kubernetes ${versions.join(', ')}`);
  }

  test('presets conform to the schemas, and Weir takes their environment', async () => {
    const versions = [kubernetesVersions().at(0)!, kubernetesVersions().at(-1)!];
    await checkAll(versions.flatMap((kubernetes) => PRESETS.map((preset) => ({ name: `${preset} ${kubernetes}`, preset, kubernetes }))));
  });

  test('each feature conforms to the schemas, and Weir takes its environment', async () => {
    await checkAll(singleFeatures().map(triedOf));
  });

  test('random combinations of features conform to the schemas, and Weir takes their environment', async () => {
    const { numRuns, seed } = seededInFull(isLong ? COMBINATIONS_LONG : COMBINATIONS);
    const random = randomFrom({ seed });
    await checkAll(Array.from({ length: numRuns }, () => randomFeatures(random)).map(triedOf));
  });
});

function triedOf(features: readonly Feature[], place: number): Tried {
  return { name: nameOf(features), values: valuesOf(features), kubernetes: versionFor(features, place) };
}

interface Tried extends Release {
  readonly name: string;
  readonly kubernetes: string;
}

/** One of those that have all of the features: in turn, all versions. */
function versionFor(features: readonly Feature[], place: number): string {
  const minor = (version: string): number => Number(/1\.(\d+)/.exec(version)![1]);
  const needed = Math.max(...features.map(({ kubernetes = '1.25' }) => minor(kubernetes)));
  const versions = kubernetesVersions().filter((version) => minor(version) >= needed);
  return versions[place % versions.length]!;
}

function nameOf(features: readonly Feature[]): string {
  return features.map(({ name }) => name).join(', ');
}

function checkObjects(objects: readonly Rendered[], name: string): void {
  const ids = objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`);
  const hooks = objects.filter(({ metadata }) => metadata.annotations?.['helm.sh/hook'] !== undefined);
  expect({ name, ids: new Set(ids).size }).toEqual({ name, ids: ids.length });
  expect(hooks.length).toBeLessThanOrEqual(3);
  checkSelectors(objects, name);
  checkNetworkPolicies(objects, name);
  for (const pod of podsOf(objects)) {
    const { containers, initContainers = [], securityContext, automountServiceAccountToken, volumes = [] } = pod.spec;
    expect({ name, securityContext }).toMatchObject({
      securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
    });
    // Only a value gives the pods of Weir a token.
    if (pod.container !== 'weir') expect(automountServiceAccountToken).toBe(false);
    for (const container of [...containers, ...initContainers]) {
      expect(container.securityContext).toMatchObject({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
      expect(container.resources?.requests).toMatchObject({ cpu: expect.any(String) as unknown, memory: expect.any(String) as unknown });
    }
    // Each mount has its volume, and no volume is left over.
    const mounted = new Set([...containers, ...initContainers].flatMap(({ volumeMounts = [] }) => volumeMounts.map((mount) => mount.name)));
    expect({ name, mounted: [...mounted].sort() }).toEqual({ name, mounted: volumes.map((volume) => volume.name).sort() });
    if (pod.container !== 'weir' && pod.container !== 'check') continue;
    const variables = (containers[0]!.env ?? []).map((variable) => variable.name);
    expect({ name, unknown: variables.filter((variable) => !SETTINGS.has(variable)) }).toEqual({ name, unknown: [] });
    expect(new Set(variables).size).toBe(variables.length);
  }
}

/** What Weir's own code says to the environment and the files of the pods. */
async function checkEnvironment(objects: readonly Rendered[], name: string): Promise<void> {
  if (!podsOf(objects).some(({ container }) => container === 'weir')) return;
  const pod = mountedOf(objects, 'weir');
  const { settings, ...others } = settingsInForce(pod.env);
  const problems = await problemsOfStart(pod.env);
  pod.remove();
  expect({ name, ...others, problems }).toEqual({ name, reference: [], unknown: [], problems: [] });
  expect(settings.filter(({ source }) => source === 'environment').length).toBeGreaterThan(8);
}

interface Policy {
  readonly ingress?: readonly Readonly<Record<string, readonly unknown[] | null>>[];
  readonly egress?: readonly Readonly<Record<string, readonly unknown[] | null>>[];
}

/** A rule without ports opens all of them, and one without peers to everybody: only names and Redis may be anywhere. */
function checkNetworkPolicies(objects: readonly Rendered[], name: string): void {
  for (const policy of objects.filter(({ kind }) => kind === 'NetworkPolicy')) {
    const { ingress = [], egress = [] } = policy.spec as Policy;
    for (const rule of [...ingress, ...egress]) expect({ name, ports: rule.ports?.length ?? 0 }).not.toEqual({ name, ports: 0 });
    for (const rule of ingress) expect({ name, from: rule.from?.length ?? 0 }).not.toEqual({ name, from: 0 });
  }
}

interface Selecting {
  readonly selector?: Readonly<Record<string, string>> & { readonly matchLabels?: Readonly<Record<string, string>> };
}

/** Each Service and workload selects pods that the chart makes, if it makes any. */
function checkSelectors(objects: readonly Rendered[], name: string): void {
  const pods = podsOf(objects);
  for (const { kind, metadata, spec } of objects) {
    if (!['Service', 'Deployment', 'PodDisruptionBudget'].includes(kind)) continue;
    const { selector = {} } = spec as Selecting;
    const wanted = Object.entries(selector.matchLabels ?? selector);
    const found = pods.filter(({ labels }) => wanted.every(([label, value]) => labels[label] === value));
    expect({ name, object: `${kind} ${metadata.name}`, found: found.length }).toMatchObject({ found: 1 });
  }
}
