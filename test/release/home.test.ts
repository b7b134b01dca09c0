/** One file says where the project lives, and one command writes it into every file that names a repository, an image, a chart or a package. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { parse } from 'yaml';
import { readDockerfile } from '../support/image/dockerfile';
import { copyProject, HOME, npmScope, pin, settle, type ProjectCopy } from '../support/release/project-copy';
import { runCommand } from '../support/processes/command';

const ROOT = path.resolve(__dirname, '..', '..');
const { version } = JSON.parse(readFileSync(path.join(ROOT, 'package.json'), 'utf8')) as { version: string };
const SETTLE_MS = 300_000;

let copy: ProjectCopy;

beforeAll(async () => {
  copy = copyProject();
  expect(await settle(copy)).toMatchObject({ exitCode: 0, stderr: '' });
  await pin(copy);
}, SETTLE_MS);

afterAll(() => {
  copy.remove();
});

test('the files of this repository say what its home file says', async () => {
  const script = `import('./scripts/release/home/places.mjs').then(async ({ placeFaults }) => {
    const { readHome, malformed } = await import('./scripts/release/home/home.mjs');
    const home = readHome();
    console.log(JSON.stringify([...malformed(home), ...placeFaults({ root: '.', home })]));
  });`;
  expect(JSON.parse((await runCommand(process.execPath, ['-e', script])).stdout)).toEqual([]);
});

test('the package names repository, homepage and the place for bugs', () => {
  expect(JSON.parse(copy.read('package.json'))).toMatchObject({
    repository: { type: 'git', url: `git+${HOME.repository}.git` },
    homepage: HOME.homepage,
    bugs: { url: `${HOME.repository}/issues` },
  });
});

test('the chart names home, sources and maintainers, and links its alerts to the runbook there; so does kustomize', () => {
  expect(parse(copy.read('deploy/helm/weir/Chart.yaml'))).toMatchObject({
    home: HOME.homepage,
    sources: [HOME.repository],
    maintainers: [{ name: HOME.maintainer, email: HOME.email }],
    annotations: {
      'artifacthub.io/license': 'Apache-2.0',
      'artifacthub.io/links': expect.stringContaining(`${HOME.repository}/issues`) as string,
    },
  });
  const runbook = `${HOME.repository}/blob/main/docs/runbook.md`;
  const { monitoring } = parse(copy.read('deploy/helm/weir/values.yaml')) as { monitoring: { rules: { runbookUrl: string } } };
  expect(monitoring.rules.runbookUrl).toBe(runbook);
  expect(copy.read('deploy/helm/weir/README.md')).toContain(`\`"${runbook}"\``);
  expect(copy.read('deploy/kubernetes/components/monitoring/resources.yaml')).toContain(`runbook_url: "${runbook}#weirnotscraped"`);
  expect(parse(copy.read('deploy/helm/artifacthub-repo.yml'))).toEqual({ owners: [{ name: HOME.maintainer, email: HOME.email }] });
});

test('the labels of the image name the repository and the homepage', () => {
  const { instructions } = readDockerfile(path.join(copy.folder, 'deploy', 'Dockerfile')).at(-1)!;
  const labels = instructions.find(({ name }) => name === 'LABEL')!.text;
  expect(labels).toContain(`image.source="${HOME.repository}"`);
  expect(labels).toContain(`image.url="${HOME.homepage}"`);
});

test('the documents have commands with the names, and none with a placeholder', () => {
  expect(copy.read('README.md')).toContain(`git clone ${HOME.repository} weir && cd weir && npm start`);
  expect(copy.read('docs/index.md')).toContain(`\ndocker run -p 8080:8080 -p 8081:8081 ${HOME.image}\n`);
  expect(copy.read('.github/SECURITY.md')).toContain(`write to <${HOME.security}>`);
  expect(copy.read('docs/libraries.md')).toContain(`\nnpm install ${npmScope}/client\n`);
  expect(copy.read('docs/kubernetes.md')).toContain(`helm install weir oci://${HOME.charts}/weir --version`);
  const verify = copy.read('deploy/README.md').split('### Verify a release')[1]!.split('\n## ')[0]!;
  expect(verify).toContain(`cosign verify ${HOME.image}@sha256:`);
  expect(verify).toContain(`cosign verify ${HOME.charts}/weir:`);
  expect(verify).toContain(String.raw`^https://forge\.example/org/weir/\.github/workflows/release\.yml@refs/tags/v`);
  for (const placeholder of ['IMAGE', 'CHARTS', 'ORG']) expect(verify).not.toMatch(new RegExp(`\\b${placeholder}\\b`));
});

test('a tag is refused until the home is chosen, while a file disagrees with it, and if another repository builds the release', async () => {
  const check = (...args: string[]) => copy.run('scripts/release/check-version.mjs', ...args, `v${version}`);
  expect(await check('--repository', HOME.repository)).toMatchObject({ exitCode: 0, stderr: '' });
  expect(await check('--repository', 'https://forge.example/fork/weir')).toMatchObject({
    exitCode: 1,
    stderr: `repository in scripts/release/home.json is ${HOME.repository}, but https://forge.example/fork/weir builds the release; set that.\n`,
  });
  copy.change('.github/SECURITY.md', HOME.security, 'nobody@org.example');
  expect(await check()).toMatchObject({
    exitCode: 1,
    stderr: '.github/SECURITY.md does not say what scripts/release/home.json says; run node scripts/release/set-home.mjs.\n',
  });
  expect(await settle(copy, { image: '' })).toMatchObject({
    exitCode: 0,
    stdout: 'Wrote .github/SECURITY.md\nWrote deploy/README.md\nWrote docs/index.md\nWrote docs/kubernetes.md\n',
  });
  expect(await check()).toMatchObject({
    exitCode: 1,
    stderr: 'image in scripts/release/home.json is empty; set it with node scripts/release/set-home.mjs --image VALUE.\n',
  });
  await settle(copy, { image: HOME.image });
});

test.each([
  ['repository', 'forge.example/org/weir', 'write it like https://forge.example/org/weir'],
  ['image', 'registry.example/org/weir:1', 'write it like registry.example/org/weir'],
  ['email', 'weir', 'write it like weir@org.example'],
])('a wrong %s is refused before a file is written', async (option, value, advice) => {
  const before = copy.read('scripts/release/home.json');
  expect(await settle(copy, { [option]: value })).toMatchObject({
    exitCode: 1,
    stdout: '',
    stderr: expect.stringContaining(advice) as string,
  });
  expect(copy.read('scripts/release/home.json')).toBe(before);
});

test('an unknown option shows all options with their meaning', async () => {
  const { exitCode, stderr } = await settle(copy, { repo: 'x' });
  expect(exitCode).toBe(1);
  for (const option of Object.keys(HOME)) expect(stderr).toContain(`--${option}`);
});

test(
  'another scope is written wherever a file names a package of the project',
  async () => {
    const scoped = copyProject();
    expect(await settle(scoped, { 'npm-scope': '@other.org' })).toMatchObject({ exitCode: 0, stderr: '' });
    const bare = npmScope.slice(1);
    const named = String.raw`${npmScope}/(weir|client|limiter|[$])|'${npmScope}', library|${bare}-(weir|client|limiter|[$])`;
    // A copy of the project has no repository of git.
    const options = ['grep', '--no-index', '--exclude-standard', '-lE', named];
    const files = execFileSync('git', options, { cwd: ROOT, encoding: 'utf8' }).trim().split('\n');
    const left = files.filter((file) => new RegExp(named).test(scoped.read(file)));
    expect(files.length).toBeGreaterThan(8);
    expect(left).toEqual([]);
    expect(scoped.read('docs/libraries.md')).toContain(`./dist/packages/other.org-client-${version}.tgz`);
    expect(JSON.parse(scoped.read('package-lock.json'))).toMatchObject({
      name: '@other.org/weir',
      packages: { '': { name: '@other.org/weir' } },
    });
    scoped.remove();
  },
  SETTLE_MS,
);
