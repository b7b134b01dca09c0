/** The chart renders for each preset and for any combination of features, and what it renders conforms to the schemas and to what Weir reads. */
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync, cpSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { SETTINGS_TABLE } from '../../src/settings/table/settings-table';
import { figure } from '../support/docs/figure';
import { randomFeatures, singleFeatures, valuesOf, type Feature } from '../support/kubernetes/features';
import { CHART, PRESETS, helm, objectsOf, presetFiles, renderText, type Release, type Rendered } from '../support/kubernetes/helm';
import { conformanceOf, kubernetesVersions } from '../support/kubernetes/kubeconform';
import { podsOf } from '../support/kubernetes/pods';
import { runCommand } from '../support/processes/command';
import { isLong } from '../support/random/form';
import { randomFrom, seededInFull } from '../support/random/random';

/** Each takes Helm a tenth of a second, and kubeconform as long. */
const COMBINATIONS = 30;
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
  async function checkAll(releases: readonly (Release & { readonly name: string })[]): Promise<void> {
    const versions = kubernetesVersions();
    const paths = new Map<string, string[]>(versions.map((version) => [version, []]));
    for (const [place, release] of releases.entries()) {
      const kubernetes = release.kubernetes ?? versions[place % versions.length]!;
      const text = await renderText({ ...release, kubernetes });
      const path = join(folder, `${releases.length}-${place} ${release.name.replaceAll(/[^A-Za-z0-9]+/g, '-')}.yaml`);
      writeFileSync(path, text);
      paths.get(kubernetes)?.push(path);
      checkObjects(objectsOf(text), release.name);
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

  test('presets, features and random combinations of features conform to the schemas of Kubernetes', async () => {
    const presets = kubernetesVersions().flatMap((kubernetes) =>
      PRESETS.map((preset) => ({ name: `${preset} ${kubernetes}`, preset, kubernetes })),
    );
    const { numRuns, seed } = seededInFull(isLong ? COMBINATIONS_LONG : COMBINATIONS);
    const random = randomFrom({ seed });
    const combinations = Array.from({ length: numRuns }, () => randomFeatures(random));
    const features = [...singleFeatures(), ...combinations].map((chosen) => ({ name: nameOf(chosen), values: valuesOf(chosen) }));
    await checkAll([...presets, ...features]);
  });
});

function nameOf(features: readonly Feature[]): string {
  return features.map(({ name }) => name).join(', ');
}

function checkObjects(objects: readonly Rendered[], name: string): void {
  const ids = objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`);
  const hooks = objects.filter(({ metadata }) => metadata.annotations?.['helm.sh/hook'] !== undefined);
  expect({ name, ids: new Set(ids).size }).toEqual({ name, ids: ids.length });
  expect(hooks.length).toBeLessThanOrEqual(3);
  for (const pod of podsOf(objects)) {
    const { containers, securityContext, automountServiceAccountToken, volumes = [] } = pod.spec;
    expect({ name, securityContext }).toMatchObject({
      securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
    });
    expect(automountServiceAccountToken).toBe(false);
    for (const container of containers) {
      expect(container.securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
      expect(container.resources?.requests).toMatchObject({ cpu: expect.any(String) as unknown, memory: expect.any(String) as unknown });
      // Each mount has its volume, and no volume is left over.
      const mounted = new Set((container.volumeMounts ?? []).map((mount) => mount.name));
      expect({ name, mounted: [...mounted].sort() }).toEqual({ name, mounted: volumes.map((volume) => volume.name).sort() });
    }
    if (pod.container !== 'weir' && pod.container !== 'check') continue;
    const variables = (containers[0]!.env ?? []).map((variable) => variable.name);
    expect({ name, unknown: variables.filter((variable) => !SETTINGS.has(variable)) }).toEqual({ name, unknown: [] });
    expect(new Set(variables).size).toBe(variables.length);
  }
}
