/** The Dockerfile names existing files, a user that is not root, and one Node image that a build may pin. */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { labelsOf, readDockerfile } from '../support/image/dockerfile';
import { listNodes } from '../support/versions/node-versions';
import { DEPLOY, documentsOf } from './manifests';

/** What is read of an entry of package-lock.json. */
interface LockEntry {
  readonly dev?: boolean;
  readonly optional?: boolean;
  readonly devOptional?: boolean;
  readonly cpu?: readonly string[];
  readonly os?: readonly string[];
}

const ROOT = resolve(DEPLOY, '..');
const DOCKERFILE = resolve(DEPLOY, 'Dockerfile');
const stages = readDockerfile(DOCKERFILE);
const instructions = stages.flatMap(({ instructions: all }) => all.map(({ name, text }) => `${name} ${text}`));

/** The arguments of an instruction, at each place where it stands. */
function argumentsOf(instruction: string): string[][] {
  return instructions.filter((line) => line.startsWith(`${instruction} `)).map((line) => line.split(/\s+/).slice(1));
}

const copiedFromHere = argumentsOf('COPY')
  .filter((parts) => !parts.some((part) => part.startsWith('--from=')))
  .flatMap((parts) => parts.filter((part) => !part.startsWith('--')).slice(0, -1));

test('every COPY source exists and passes .dockerignore', () => {
  const [first, ...allowed] = readFileSync(resolve(ROOT, '.dockerignore'), 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));
  expect(first).toBe('*');
  expect(copiedFromHere.length).toBeGreaterThan(0);
  for (const source of copiedFromHere) {
    expect({ source, exists: existsSync(resolve(ROOT, source)) }).toEqual({ source, exists: true });
    expect(allowed).toContain(`!${source}`);
  }
  expect([...new Set(copiedFromHere)].sort()).toEqual(allowed.map((line) => line.slice(1)).sort());
});

test('only the last stage is made for each processor, and needs no emulation: it runs nothing, and no package is for one processor', () => {
  const [last, ...before] = [...stages].reverse();
  expect(before.map(({ platform }) => platform)).toEqual(['$BUILDPLATFORM', '$BUILDPLATFORM']);
  expect(last!.platform).toBeUndefined();
  expect(last!.instructions.map(({ name }) => name)).not.toContain('RUN');
  const { packages } = JSON.parse(readFileSync(resolve(ROOT, 'package-lock.json'), 'utf8')) as {
    packages: Readonly<Record<string, LockEntry>>;
  };
  const shipped = Object.entries(packages).filter(
    ([, { dev, optional, devOptional }]) => dev !== true && optional !== true && devOptional !== true,
  );
  expect(shipped.length).toBeGreaterThan(50);
  expect(shipped.filter(([, { cpu, os }]) => cpu !== undefined || os !== undefined).map(([name]) => name)).toEqual([]);
});

test('the last stage has the files that package.json would publish', () => {
  const { files } = JSON.parse(readFileSync(resolve(ROOT, 'package.json'), 'utf8')) as { files: string[] };
  const copies = stages.at(-1)!.instructions.filter(({ name }) => name === 'COPY');
  for (const file of files.filter((each) => !each.startsWith('!'))) expect(copies.some(({ text }) => text.endsWith(` ${file}`))).toBe(true);
});

test('the image runs as the numeric non-root user of the Deployment', () => {
  const [[user]] = argumentsOf('USER') as [[string]];
  expect(user).toMatch(/^[1-9]\d*:[1-9]\d*$/);
  const [deployment] = documentsOf('kubernetes/base/deployment.yaml') as [
    { spec: { template: { spec: { securityContext: { runAsUser: number; runAsGroup: number } } } } },
  ];
  const { runAsUser, runAsGroup } = deployment.spec.template.spec.securityContext;
  expect(user).toBe(`${runAsUser}:${runAsGroup}`);
});

test('all stages use one Node image, of the first line that the tests run on, and a build may pin it by its digest', () => {
  const [, major] = /^node-(\d+)\./.exec(listNodes()[0]!.name)!;
  // Once a release has pinned it, with its digest.
  expect(new Set(stages.map(({ image }) => image.replace(/@sha256:.*/, '')))).toEqual(new Set([`node:${major}-slim`]));
  const pinned = `node:${major}-slim@sha256:${'0'.repeat(64)}`;
  const release = readDockerfile(DOCKERFILE, { NODE_IMAGE: pinned });
  expect(new Set(release.map(({ image }) => image))).toEqual(new Set([pinned]));
  expect(labelsOf(release)).toMatchObject({ 'base.name': pinned });
});

test('the labels of the image say its version, its licence, and the commit of a release', () => {
  const manifest = JSON.parse(readFileSync(resolve(ROOT, 'package.json'), 'utf8')) as Record<string, string>;
  const built = readDockerfile(DOCKERFILE, {
    REVISION: 'abc',
    CREATED: '2026-01-02T03:04:05Z',
    SOURCE: 'https://forge.example/weir',
    URL: 'https://weir.example',
  });
  const { 'base.name': base, ...labels } = labelsOf(built);
  expect(base!.replace(/@sha256:.*/, '')).toBe(`node:${/^node-(\d+)\./.exec(listNodes()[0]!.name)![1]}-slim`);
  expect(labels).toEqual({
    title: 'weir',
    description: manifest.description,
    licenses: manifest.license,
    version: manifest.version,
    revision: 'abc',
    created: '2026-01-02T03:04:05Z',
    source: 'https://forge.example/weir',
    url: 'https://weir.example',
  });
});

test('the image exposes the three ports of the server', () => {
  expect(argumentsOf('EXPOSE')).toEqual([['8080', '8081', '6070']]);
});

test('every command of deploy/bin is in /bin and executable in the repository', () => {
  const commands = readdirSync(resolve(DEPLOY, 'bin')).sort();
  expect(commands).toEqual(['ratelimit', 'ratelimit_client', 'ratelimit_config_check', 'weir']);
  for (const command of commands) expect(statSync(resolve(DEPLOY, 'bin', command)).mode & 0o111).toBe(0o111);
  expect(argumentsOf('COPY')).toContainEqual(['--chmod=755', ...commands.map((command) => `deploy/bin/${command}`), '/bin/']);
  expect(argumentsOf('ENTRYPOINT')).toEqual([['["/bin/ratelimit"]']]);
});
