/** A release publishes only what CI has tested, with pinned actions, few rights, signatures and provenance. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parse } from 'yaml';
import { runCommand } from '../support/processes/command';

const ROOT = path.resolve(__dirname, '..', '..');
const FOLDER = path.join(ROOT, '.github', 'workflows');
const FILES = readdirSync(FOLDER).map((name) => path.join(FOLDER, name));

/** The one for the limits of users. */
const FOR_LIMITS = path.join(ROOT, 'deploy', 'ci', 'github-actions.yaml');

/** Where scripts/install/go/actionlint.mjs puts it. */
const ACTIONLINT = process.env.WEIR_ACTIONLINT ?? path.join(ROOT, '.cache', 'actionlint', 'v1.7.12');

type Environment = Readonly<Record<string, string>>;

interface Step {
  readonly uses?: string;
  readonly with?: Readonly<Record<string, unknown>>;
  readonly run?: string;
  readonly env?: Environment;
}

interface Job {
  readonly env?: Environment;
  readonly needs?: string | readonly string[];
  readonly permissions?: Readonly<Record<string, string>>;
  readonly steps: readonly Step[];
}

interface Workflow {
  readonly env?: Environment;
  readonly permissions: Readonly<Record<string, string>>;
  readonly jobs: Readonly<Record<string, Job>>;
}

const read = (name: string) => parse(readFileSync(path.join(FOLDER, name), 'utf8')) as Workflow;
const release = read('release.yml');

function scriptOf({ steps }: Job): string {
  return steps.map(({ run = '' }) => run).join('\n');
}

test('actionlint accepts the workflows and that for limits, and refuses one with an unknown job', async () => {
  const { exitCode, stdout } = await runCommand(ACTIONLINT, ['-no-color', ...FILES, FOR_LIMITS]);
  expect(stdout).toBe('');
  expect(exitCode).toBe(0);
  const folder = mkdtempSync(path.join(tmpdir(), 'weir-workflow-'));
  const wrong = path.join(folder, 'release.yml');
  writeFileSync(wrong, readFileSync(path.join(FOLDER, 'release.yml'), 'utf8').replace('needs: build', 'needs: picture'));
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

test('the workflows name no registry: the file of the home does', () => {
  for (const file of FILES) expect(readFileSync(file, 'utf8')).not.toMatch(/ghcr\.io|docker\.io|quay\.io|npmjs\.org|pkg\.dev/);
});

test('a release publishes only after .ci/run, which pull requests run too, and after all of it was built and checked', () => {
  expect(scriptOf(read('ci.yml').jobs.test!)).toMatch(/\n\.ci\/run$/);
  const { test: tested, ...others } = release.jobs;
  expect(scriptOf(tested!)).toMatch(
    /check-version\.mjs --repository "\$GITHUB_SERVER_URL\/\$GITHUB_REPOSITORY" "\$GITHUB_REF_NAME"\n[\s\S]*\n\.ci\/run$/,
  );
  expect(Object.entries(others).map(([name, { needs }]) => [name, needs])).toEqual([
    ['build', 'test'],
    ['check', 'build'],
    ['publish', 'check'],
    ['notes', 'publish'],
  ]);
});

test('the jobs run the steps that the test of a release runs, each on the files of the job before, and only one of them publishes', () => {
  const { build, check, publish, notes } = release.jobs as Record<'build' | 'check' | 'publish' | 'notes', Job>;
  const stepsOf = (job: Job) => Array.from(scriptOf(job).matchAll(/release\.mjs (\w+) --folder release/g), ([, step]) => step);
  expect([build, check, publish, notes].map(stepsOf)).toEqual([['pack'], ['check'], ['publish'], []]);
  for (const job of [build, check, notes]) expect(scriptOf(job)).not.toMatch(/--push|helm push|cosign|npm publish|oras/);
  const moved = (job: Job) => job.steps.flatMap(({ uses = '' }) => /actions\/(\w+)-artifact@/.exec(uses)?.[1] ?? []);
  expect([build, check, publish, notes].map(moved)).toEqual([['upload'], ['download'], ['download'], ['download']]);
});

test('a release without a secret is stopped before anything is published, and the message names it', async () => {
  const [secrets = ''] = release.jobs.check!.steps.map(({ run = '' }) => run);
  const names = ['REGISTRY_USER', 'REGISTRY_TOKEN'];
  const all = Object.fromEntries(names.map((name) => [name, 'x']));
  expect(await runCommand('bash', ['-c', secrets], { env: all })).toMatchObject({ exitCode: 0 });
  for (const name of names) {
    const { exitCode, stdout } = await runCommand('bash', ['-c', secrets], { env: { ...all, [name]: '' } });
    expect({ name, exitCode, stdout }).toMatchObject({ exitCode: 1, stdout: expect.stringContaining(`${name} is empty`) as string });
  }
});

test('a release is stopped by a known vulnerability that is high, in a package or, if it has a fix, in the image', () => {
  const script = scriptOf(release.jobs.build!);
  expect(script).toContain('npm audit --omit=dev --audit-level=high');
  expect(script).toContain('node scripts/release/single-platform.mjs release/image scan');
  const scan = release.jobs.build!.steps.findIndex(({ uses = '' }) => uses.startsWith('anchore/scan-action@'));
  for (const [index, architecture] of ['amd64', 'arm64'].entries())
    expect(release.jobs.build!.steps[scan + index]!.with).toMatchObject({
      image: `oci-dir:scan/${architecture}`,
      'fail-build': true,
      'severity-cutoff': 'high',
      'only-fixed': true,
    });
  // Before its files go to the job that publishes.
  expect(release.jobs.build!.steps.slice(scan).map(({ uses = '' }) => uses.split('@')[0])).toEqual([
    'anchore/scan-action',
    'anchore/scan-action',
    'actions/upload-artifact',
  ]);
});

test('only the steps that use a secret have it in their environment', () => {
  for (const { jobs, env } of FILES.map((file) => read(path.basename(file))))
    for (const each of [{ env }, ...Object.values(jobs)]) expect(JSON.stringify(each.env ?? {})).not.toContain('secrets.');
  const steps = Object.values(release.jobs).flatMap((job) => job.steps);
  const holders = steps.filter(({ env }) => JSON.stringify(env ?? {}).includes('secrets.'));
  expect(holders).toHaveLength(3);
  for (const { run } of holders) expect(run).toContain('REGISTRY_TOKEN');
});

test('no token of npm is a secret: the registry trusts the workflow', () => {
  const text = readFileSync(path.join(FOLDER, 'release.yml'), 'utf8');
  expect(Array.from(text.matchAll(/secrets\.(\w+)/g), ([, name]) => name).filter((name) => !name!.startsWith('REGISTRY_'))).toEqual([]);
  expect(readFileSync(path.join(ROOT, 'scripts', 'release', 'steps', 'npm-registry.mjs'), 'utf8')).toContain("'--provenance'");
});

test('the command of the first release publishes each package by a path, which npm does not take for a repository', async () => {
  const [command = ''] = /^for f in .*npm publish.*$/m.exec(readFileSync(path.join(ROOT, 'deploy', 'README.md'), 'utf8')) ?? [];
  const folder = mkdtempSync(path.join(tmpdir(), 'weir-first-'));
  mkdirSync(path.join(folder, 'npm'));
  for (const name of ['a.tgz', 'b.tgz']) writeFileSync(path.join(folder, 'npm', name), '');
  const { stdout } = await runCommand('bash', ['-c', `npm() { echo "$@"; }; ${command}`], { cwd: folder });
  rmSync(folder, { recursive: true });
  const options = '--access public --ignore-scripts';
  expect(stdout).toBe(`publish ./npm/a.tgz ${options}\npublish ./npm/b.tgz ${options}\n`);
});

test('no script of a package runs where a job holds secrets or signs', () => {
  for (const file of FILES) expect(readFileSync(file, 'utf8')).not.toMatch(/npm ci(?! --ignore-scripts)/);
  expect(readFileSync(path.join(ROOT, 'deploy', 'Dockerfile'), 'utf8')).not.toMatch(/npm ci(?! --ignore-scripts)/);
  const steps = path.join(ROOT, 'scripts', 'release', 'steps');
  const calls = readdirSync(steps).flatMap(
    (name) => readFileSync(path.join(steps, name), 'utf8').match(/'npm', \[\s*'(?:install|pack|publish)'[^\]]*/g) ?? [],
  );
  expect(calls).toHaveLength(4);
  for (const call of calls) expect(call).toContain("'--ignore-scripts'");
});

test('no script of a package runs where a developer or an operator installs: neither by the scripts here nor by a command of the documents', () => {
  const installer = readFileSync(path.join(ROOT, 'scripts', 'install', 'npm-packages.mjs'), 'utf8');
  expect(installer).toContain("runNpm(['ci', '--ignore-scripts'])");
  expect(installer).toMatch(/const options = \['--ignore-scripts',[^\n]*\n\s*return runNpm\(\['install', \.\.\.options/);
  const pages = readdirSync(path.join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.md'));
  const commands = [...pages.map((name) => path.join('docs', name)), 'README.md', 'CONTRIBUTING.md', 'deploy/README.md'].flatMap(
    (file) => readFileSync(path.join(ROOT, file), 'utf8').match(/npm ci[^\n`]*&&|^npm ci.*$/gm) ?? [],
  );
  expect(commands.length).toBeGreaterThan(1);
  for (const command of commands) expect(command).toContain(' --ignore-scripts');
});

test.each([
  ['none', ['create']],
  ['true', ['delete', 'create']],
  ['false', []],
])('the notes of a release whose draft is %s: gh is asked to %j', async (draft, expected) => {
  const view = draft === 'none' ? 'return 1' : `echo ${draft}`;
  const gh = `gh() { case "$2" in view) ${view} ;; *) echo "gh $*" ;; esac; }; node() { :; }`;
  const folder = mkdtempSync(path.join(tmpdir(), 'weir-notes-'));
  const { exitCode, stdout } = await runCommand('bash', ['-ec', `${gh}\n${scriptOf(release.jobs.notes!)}`], {
    cwd: folder,
    env: { ...process.env, GITHUB_REF_NAME: 'v1.2.3' },
  });
  rmSync(folder, { recursive: true });
  expect(exitCode).toBe(0);
  expect(Array.from(stdout.matchAll(/^gh release (\w+) v1\.2\.3 /gm), ([, verb]) => verb)).toEqual(expected);
});

test('the jobs of a release have no more rights than they need', () => {
  expect(release.permissions).toEqual({});
  expect(Object.fromEntries(Object.entries(release.jobs).map(([name, { permissions }]) => [name, permissions]))).toEqual({
    test: { contents: 'read' },
    build: { contents: 'read' },
    check: { contents: 'read' },
    publish: { contents: 'read', 'id-token': 'write' },
    notes: { contents: 'write' },
  });
});

test('a release builds the image for two architectures, with SBOM and provenance, as a file', () => {
  const script = scriptOf(release.jobs.build!);
  expect(script).toContain('--platform linux/amd64,linux/arm64');
  expect(script).toContain('--sbom=true --provenance=mode=max');
  expect(script).toContain('--output type=oci,tar=false,dest=release/image');
  const passed = Array.from(script.matchAll(/--build-arg "(\w+)=/g), ([, name]) => name!);
  expect(passed.sort()).toEqual(['CREATED', 'REVISION', 'VERSION']);
  const text = readFileSync(path.join(ROOT, 'deploy', 'Dockerfile'), 'utf8');
  for (const name of passed) expect(text).toMatch(new RegExp(`^ARG ${name}\\b`, 'm'));
});

test('the shell accepts every script of the workflows', async () => {
  const scripts = FILES.flatMap((file) => Object.values(read(path.basename(file)).jobs).map(scriptOf));
  for (const script of scripts) expect(await runCommand('bash', ['-n', '-c', script])).toMatchObject({ exitCode: 0, stderr: '' });
});
