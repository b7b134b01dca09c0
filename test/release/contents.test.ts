/** A release publishes the files that a rule allows and no others, names images by digests, and moves tags only forward. */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { readCompose } from '../support/image/compose';
import { LIBRARIES, packAll } from '../support/library/installed-package';
import { runCommand } from '../support/processes/command';
import { copyProject, pin } from '../support/release/project-copy';

const ROOT = path.resolve(__dirname, '..', '..');
const { version } = JSON.parse(readFileSync(path.join(ROOT, 'package.json'), 'utf8')) as { version: string };
const PACK_MS = 300_000;

/** What a module of the release makes of these arguments. */
async function call(module: string, name: string, ...args: readonly unknown[]): Promise<unknown> {
  const script = `import('./scripts/release/${module}.mjs').then(async (loaded) => console.log(JSON.stringify(await loaded['${name}'](...${JSON.stringify(args)}))))`;
  const { exitCode, stdout, stderr } = await runCommand(process.execPath, ['-e', script]);
  if (exitCode !== 0) throw new Error(stderr);
  return JSON.parse(stdout);
}

test(
  'each package holds only what the rules allow, and what it names as its command and its exports',
  async () => {
    const packs = packAll();
    for (const name of ['weir', ...LIBRARIES]) {
      const file = path.join(packs, `weir-rls-${name}-${version}.tgz`);
      const listed = await runCommand('tar', ['-tzf', file]);
      const files = listed.stdout
        .trim()
        .split('\n')
        .map((each) => each.replace(/^package\//, ''));
      const manifest = JSON.parse((await runCommand('tar', ['-xzOf', file, 'package/package.json'])).stdout) as object;
      expect(files.length).toBeGreaterThan(40);
      expect(await call('steps/package-contents', 'contentFaults', name, files, manifest)).toEqual([]);
    }
    rmSync(packs, { recursive: true });
  },
  PACK_MS,
);

test.each([
  '.env',
  'dist/.built',
  'dist/packages/client/package.json',
  'test/unit/a.test.ts',
  'src/main.ts',
  'dist/main.test.js',
  'lua/key.pem',
  'notes.txt',
])('a package with %s is refused', async (file) => {
  const whole = ['package.json', 'LICENSE', 'README.md', 'dist/main.js'];
  expect(await call('steps/package-contents', 'contentFaults', 'weir', whole, { bin: { weir: 'dist/main.js' } })).toEqual([]);
  expect(await call('steps/package-contents', 'contentFaults', 'weir', [...whole, file], {})).toEqual([
    expect.stringContaining(`weir would publish ${file};`) as string,
  ]);
});

test('a package without a file that it exports is refused', async () => {
  const exports = { '.': { types: './dist/a.d.ts', default: './dist/a.js' } };
  expect(
    await call('steps/package-contents', 'contentFaults', 'client', ['package.json', 'LICENSE', 'README.md', 'dist/a.js'], { exports }),
  ).toEqual(['client would be published without dist/a.d.ts.']);
});

test('a release moves the tags of its line, unless a newer release has them; a version before a release moves none', async () => {
  const tags = (each: string, published: readonly string[]) => call('steps/versions', 'movingTags', each, published);
  expect(await tags('0.1.0', [])).toEqual(['0.1', '0']);
  expect(await tags('0.1.10', ['0.1.9', '0.1', '0'])).toEqual(['0.1', '0']);
  expect(await tags('0.1.2', ['0.1.1', '0.2.0', '0.1', '0'])).toEqual(['0.1']);
  expect(await tags('0.1.2', ['0.1.10', '0.2.0-rc.1'])).toEqual([]);
  expect(await tags('0.2.0', ['0.2.0-rc.1', 'sha256-abc', '0.10.0'])).toEqual(['0.2']);
  expect(await tags('1.0.0-rc.1', [])).toEqual([]);
});

test('npm installs the newest release by default, and neither a fix of an older line nor a version before a release', async () => {
  const tag = (each: string, latest: string | null) => call('steps/versions', 'npmTag', each, ...(latest === null ? [] : [latest]));
  expect(
    await Promise.all([
      tag('0.1.0', null),
      tag('0.2.0', '0.1.9'),
      tag('0.1.10', '0.2.0'),
      tag('1.0.0-rc.1', '0.2.0'),
      tag('1.0.0', '1.0.0-rc.2'),
    ]),
  ).toEqual([...['latest', 'latest', 'release-0.1', 'next', 'latest']]);
});

test('versions before a release are older than it, and in their order', async () => {
  const sorted = ['0.1.0-rc.2', '0.1.0-rc.10', '0.1.0', '0.1.2', '0.1.10', '0.2.0', '1.0.0-alpha', '1.0.0-rc.1', '1.0.0'];
  for (const [index, next] of sorted.slice(1).entries())
    expect(await call('steps/versions', 'compareVersions', sorted[index], next)).toBeLessThan(0);
});

test(
  'every file that starts an image of others is known, and a tag is refused while one has no digest',
  async () => {
    const named = (await call('images', 'namedImages', ROOT)) as { file: string; image: string }[];
    expect([...new Set(named.map(({ file }) => file))].sort()).toEqual([
      'deploy/Dockerfile',
      'deploy/ci/gitlab-ci.yaml',
      'deploy/compose.yaml',
      'deploy/helm/weir/values.yaml',
    ]);
    const copy = copyProject();
    await pin(copy);
    expect(await call('images', 'unpinnedFaults', copy.folder)).toEqual([]);
    const services = Object.values(await readCompose(path.join(copy.folder, 'deploy', 'compose.yaml')));
    expect(services.filter(({ image }) => image.includes('@sha256:'))).toHaveLength(4);
    for (const { file, image } of named) {
      const tagged = image.replace(/@.*/, '');
      expect(copy.read(file)).toContain(`${tagged}@sha256:${'a'.repeat(64)}`);
      const text = copy.read(file);
      writeFileSync(path.join(copy.folder, file), text.replace(`${tagged}@sha256:${'a'.repeat(64)}`, tagged));
      expect(await call('images', 'unpinnedFaults', copy.folder)).toEqual([
        `${file} names ${tagged} without its digest; run node scripts/release/pin-images.mjs.`,
      ]);
      writeFileSync(path.join(copy.folder, file), text);
    }
    copy.remove();
  },
  PACK_MS,
);

test('an image of Docker gets its full name, and that of another registry keeps its own', async () => {
  const full = (image: string) => call('images', 'fullName', image, 'docker.io');
  expect(await Promise.all([full('redis:7.2'), full('prom/prometheus:v3.5.0'), full('quay.io/a/b:1'), full('localhost:5000/a:1')])).toEqual(
    ['docker.io/library/redis:7.2', 'docker.io/prom/prometheus:v3.5.0', 'quay.io/a/b:1', 'localhost:5000/a:1'],
  );
});
