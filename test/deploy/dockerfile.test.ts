/** What can be known of the image without building it: its sources exist, it is not root, its ports are the server's. */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { listNodes } from '../support/versions/node-versions';
import { DEPLOY, documentsOf } from './manifests';

const ROOT = resolve(DEPLOY, '..');
const instructions = readFileSync(resolve(DEPLOY, 'Dockerfile'), 'utf8')
  .replace(/\\\n/g, ' ')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'));

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

test('the last stage has the files that package.json would publish', () => {
  const { files } = JSON.parse(readFileSync(resolve(ROOT, 'package.json'), 'utf8')) as { files: string[] };
  const lastStage = instructions.slice(instructions.findLastIndex((line) => line.startsWith('FROM ')));
  for (const name of files) expect(lastStage.some((line) => line.startsWith('COPY ') && line.endsWith(` ${name}`))).toBe(true);
});

test('the image runs as the numeric non-root user of the Deployment', () => {
  const [[user]] = argumentsOf('USER') as [[string]];
  expect(user).toMatch(/^[1-9]\d*:[1-9]\d*$/);
  const [deployment] = documentsOf('kubernetes/deployment.yaml') as [
    { spec: { template: { spec: { securityContext: { runAsUser: number; runAsGroup: number } } } } },
  ];
  const { runAsUser, runAsGroup } = deployment.spec.template.spec.securityContext;
  expect(user).toBe(`${runAsUser}:${runAsGroup}`);
});

test('all stages use one Node image, of the first line that the tests run on', () => {
  const [, major] = /^node-(\d+)\./.exec(listNodes()[0]!.name)!;
  const images = new Set(argumentsOf('FROM').map(([image]) => image));
  expect([...images]).toEqual([`node:${major}-slim`]);
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
