/** A release publishes only what CI has tested, with pinned actions, few rights, signatures and provenance. */
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parse } from 'yaml';
import { readDockerfile } from '../support/image/dockerfile';
import { LIBRARIES } from '../support/library/installed-package';
import { runCommand } from '../support/processes/command';

const ROOT = path.resolve(__dirname, '..', '..');
const FOLDER = path.join(ROOT, '.github', 'workflows');
const FILES = readdirSync(FOLDER).map((name) => path.join(FOLDER, name));

/** Where scripts/install/go/actionlint.mjs puts it. */
const ACTIONLINT = process.env.WEIR_ACTIONLINT ?? path.join(ROOT, '.cache', 'actionlint', 'v1.7.12');

interface Step {
  readonly uses?: string;
  readonly run?: string;
}

interface Job {
  readonly needs?: string | readonly string[];
  readonly permissions?: Readonly<Record<string, string>>;
  readonly steps: readonly Step[];
}

interface Workflow {
  readonly permissions: Readonly<Record<string, string>>;
  readonly jobs: Readonly<Record<string, Job>>;
}

const read = (name: string) => parse(readFileSync(path.join(FOLDER, name), 'utf8')) as Workflow;
const release = read('release.yml');

function scriptOf({ steps }: Job): string {
  return steps.map(({ run = '' }) => run).join('\n');
}

test('actionlint accepts the workflows, and refuses one with an unknown job', async () => {
  const { exitCode, stdout } = await runCommand(ACTIONLINT, ['-no-color', ...FILES]);
  expect(stdout).toBe('');
  expect(exitCode).toBe(0);
  const folder = mkdtempSync(path.join(tmpdir(), 'weir-workflow-'));
  const wrong = path.join(folder, 'release.yml');
  writeFileSync(wrong, readFileSync(path.join(FOLDER, 'release.yml'), 'utf8').replace('needs: image', 'needs: picture'));
  const refused = await runCommand(ACTIONLINT, ['-no-color', wrong]);
  rmSync(folder, { recursive: true });
  expect(refused.stdout).toContain('picture');
});

test('the workflows pin every action to a commit, and one action to one commit', () => {
  const uses = FILES.flatMap((file) => Array.from(readFileSync(file, 'utf8').matchAll(/uses: (.*)/g), ([, used]) => used!));
  expect(uses.length).toBeGreaterThan(8);
  for (const used of uses) expect(used).toMatch(/^[\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
  const actions = new Set(uses.map((used) => used.split('@')[0]));
  expect(new Set(uses).size).toBe(actions.size);
});

test('the workflows name no registry: variables of the repository do', () => {
  for (const file of FILES) expect(readFileSync(file, 'utf8')).not.toMatch(/ghcr\.io|docker\.io|quay\.io|npmjs\.org|pkg\.dev/);
});

test('a release publishes only after .ci/run, which pull requests run too', () => {
  expect(scriptOf(read('ci.yml').jobs.test!)).toMatch(/\n\.ci\/run$/);
  const { test: tested, ...publishing } = release.jobs;
  expect(scriptOf(tested!)).toMatch(
    /check-version\.mjs --repository "\$GITHUB_SERVER_URL\/\$GITHUB_REPOSITORY" "\$GITHUB_REF_NAME"\n[\s\S]*\n\.ci\/run$/,
  );
  const needs = (name: string): string[] => {
    const direct = [release.jobs[name]!.needs ?? []].flat();
    return [...direct, ...direct.flatMap(needs)];
  };
  expect(Object.keys(publishing)).toEqual(['rehearsal', 'image', 'chart', 'package', 'notes']);
  for (const name of Object.keys(publishing)) expect(needs(name)).toContain('test');
});

test('a release tries everything before anything is published: variables, logins, and the build of image, chart and package', async () => {
  const { rehearsal, image, chart, package: packed } = release.jobs;
  expect([image!.needs, chart!.needs, packed!.needs]).toEqual(['rehearsal', 'image', 'chart']);
  const script = scriptOf(rehearsal!);
  expect(script).not.toMatch(/--push|helm push|cosign|npm publish(?! --dry-run)/);
  for (const part of ['docker login', 'helm registry login', 'npm whoami', 'docker buildx build', 'helm package', 'npm publish --dry-run'])
    expect(script).toContain(part);
  const [variables = ''] = rehearsal!.steps.map(({ run = '' }) => run);
  const names = ['IMAGE', 'CHARTS', 'NPM_REGISTRY_URL', 'REGISTRY_USER', 'REGISTRY_TOKEN', 'NODE_AUTH_TOKEN'];
  const all = Object.fromEntries(names.map((name) => [name, 'x']));
  expect(await runCommand('bash', ['-c', variables], { env: all })).toMatchObject({ exitCode: 0 });
  for (const name of names) {
    const { exitCode, stdout } = await runCommand('bash', ['-c', variables], { env: { ...all, [name]: '' } });
    expect({ name, exitCode, stdout }).toMatchObject({ exitCode: 1, stdout: expect.stringContaining(`${name} is empty`) as string });
  }
});

test('no script of a package runs where a job holds secrets or signs', () => {
  for (const file of FILES) expect(readFileSync(file, 'utf8')).not.toMatch(/npm ci(?! --ignore-scripts)/);
  expect(readFileSync(path.join(ROOT, 'deploy', 'Dockerfile'), 'utf8')).not.toMatch(/npm ci(?! --ignore-scripts)/);
});

test('the jobs of a release have no more rights than they need', () => {
  expect(release.permissions).toEqual({});
  expect(Object.fromEntries(Object.entries(release.jobs).map(([name, { permissions }]) => [name, permissions]))).toEqual({
    test: { contents: 'read' },
    rehearsal: { contents: 'read' },
    image: { contents: 'read', 'id-token': 'write' },
    chart: { contents: 'read', 'id-token': 'write' },
    package: { contents: 'read', 'id-token': 'write' },
    notes: { contents: 'write' },
  });
});

test('a release builds the image on a pinned base for two architectures, with SBOM and provenance, and signs its digest', async () => {
  const script = scriptOf(release.jobs.image!);
  expect(script).toContain('--platform linux/amd64,linux/arm64');
  expect(script).toContain('--sbom=true --provenance=mode=max');
  expect(script).toContain('cosign sign --yes "$IMAGE@$DIGEST"');
  const passed = Array.from(script.matchAll(/--build-arg "(\w+)=/g), ([, name]) => name!);
  expect(passed.sort()).toEqual(['CREATED', 'NODE_IMAGE', 'REVISION', 'SOURCE', 'VERSION']);
  const text = readFileSync(path.join(ROOT, 'deploy', 'Dockerfile'), 'utf8');
  for (const name of passed) expect(text).toMatch(new RegExp(`^ARG ${name}\\b`, 'm'));
  // What the step finds is what the stages begin with.
  const [find = ''] = /sed -n '[^']*' deploy\/Dockerfile/.exec(script) ?? [];
  const { stdout } = await runCommand('sh', ['-c', find]);
  expect(new Set(readDockerfile(path.join(ROOT, 'deploy', 'Dockerfile')).map(({ image }) => image))).toEqual(new Set([stdout.trim()]));
});

test('a release puts the image that it built into the chart, by its digest', async () => {
  const [script] = release.jobs.chart!.steps.map(({ run = '' }) => run).filter((run) => run.includes('values.yaml'));
  const folder = mkdtempSync(path.join(tmpdir(), 'weir-chart-'));
  cpSync(path.join(ROOT, 'deploy', 'helm'), path.join(folder, 'deploy', 'helm'), { recursive: true });
  const env = { IMAGE: 'registry.example/org/weir', DIGEST: `sha256:${'a'.repeat(64)}`, SOURCE: 'https://forge.example/org/weir' };
  const { exitCode, stderr } = await runCommand('bash', ['-ec', script!], { cwd: folder, env });
  const values = parse(readFileSync(path.join(folder, 'deploy', 'helm', 'weir', 'values.yaml'), 'utf8')) as { image: object };
  const chart = parse(readFileSync(path.join(folder, 'deploy', 'helm', 'weir', 'Chart.yaml'), 'utf8')) as object;
  rmSync(folder, { recursive: true });
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  expect(chart).toMatchObject({ home: env.SOURCE, sources: [env.SOURCE] });
  expect(values.image).toMatchObject({ repository: env.IMAGE, digest: env.DIGEST });
});

test('a release signs the chart, and publishes the server and each library package with provenance', () => {
  expect(scriptOf(release.jobs.chart!)).toContain('cosign sign --yes "$CHARTS/weir@$digest"');
  const published = scriptOf(release.jobs.package!);
  expect(published).toContain('npm publish --provenance');
  const [, folders = ''] = /for folder in ([^;]*); do/.exec(published) ?? [];
  expect(folders.split(' ')).toEqual(['.', ...LIBRARIES.map((name) => `dist/packages/${name}`)]);
  const { private: isPrivate } = JSON.parse(readFileSync(path.join(ROOT, 'package.json'), 'utf8')) as { private?: boolean };
  expect(isPrivate).not.toBe(true);
});

test('the shell accepts every script of the workflows', async () => {
  const scripts = FILES.flatMap((file) => Object.values(read(path.basename(file)).jobs).map(scriptOf));
  for (const script of scripts) expect(await runCommand('bash', ['-n', '-c', script])).toMatchObject({ exitCode: 0, stderr: '' });
});
