/** A release has one version in its tag, the package, the chart and the changelog. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { copyProject, pin, settle, type ProjectCopy } from '../support/release/project-copy';

const ROOT = path.resolve(__dirname, '..', '..');
const CHANGED = ['package.json', 'package-lock.json', 'CHANGELOG.md', 'deploy/helm/weir/Chart.yaml', 'docs/libraries.md'];
const { version } = JSON.parse(readFileSync(path.join(ROOT, 'package.json'), 'utf8')) as { version: string };
let copy: ProjectCopy;
let settled: Readonly<Record<string, string>>;

beforeAll(async () => {
  copy = copyProject();
  await settle(copy);
  await pin(copy);
  settled = Object.fromEntries(CHANGED.map((file) => [file, copy.read(file)]));
}, 300_000);

afterEach(() => {
  for (const file of CHANGED) copy.change(file, copy.read(file), settled[file]!);
});

afterAll(() => {
  copy.remove();
});

function check(...args: string[]) {
  return copy.run('scripts/release/check-version.mjs', ...args);
}

function change(file: string, from: string, to: string): void {
  copy.change(file, from, to);
}

test('the changelog begins with what is unreleased, and has a date for each version, newest first', () => {
  const headings = readFileSync(path.join(ROOT, 'CHANGELOG.md'), 'utf8').match(/^##? .*$/gm)!;
  expect(headings.slice(0, 2)).toEqual(['# Changelog', '## [Unreleased]']);
  const versions = headings
    .slice(2)
    .map((heading) => /^## \[(\d+)\.(\d+)\.(\d+)(-[0-9A-Za-z.]+)?\] - (\d{4}-\d{2}-\d{2})$/.exec(heading)?.slice(1) ?? [heading]);
  for (const found of versions) {
    expect(found).toHaveLength(5);
    expect(new Date(found[4]!).toISOString().slice(0, 10)).toBe(found[4]);
  }
  const ranks = versions.map(([major, minor, patch]) => Number(major) * 1e6 + Number(minor) * 1e3 + Number(patch));
  expect(ranks).toEqual([...ranks].sort((a, b) => b - a));
  const [major, minor, patch, early = ''] = versions[0]!;
  expect(`${major}.${minor}.${patch}${early}`).toBe(version);
});

test('the tag of the version passes, and its notes are the section of the changelog', async () => {
  expect(await check(`v${version}`)).toMatchObject({ exitCode: 0, stderr: '' });
  const { stdout } = await check('--notes', `v${version}`);
  expect(stdout.length).toBeGreaterThan(100);
  expect(stdout).not.toMatch(/^## /m);
});

test.each([
  ['package.json', `"version": "${version}"`, '"version": "9.9.9"', 'version in package.json is 9.9.9'],
  ['package-lock.json', `"version": "${version}"`, '"version": "9.9.9"', 'version in package-lock.json is 9.9.9'],
  ['deploy/helm/weir/Chart.yaml', `\nversion: ${version}`, '\nversion: 9.9.9', 'version in deploy/helm/weir/Chart.yaml is 9.9.9'],
  ['deploy/helm/weir/Chart.yaml', `\nappVersion: ${version}`, '', 'appVersion in deploy/helm/weir/Chart.yaml is missing'],
  ['CHANGELOG.md', `## [${version}] - `, `## [9.9.9] - 2030-01-01\n\n## [${version}] - `, 'first version in CHANGELOG.md is 9.9.9'],
])('a tag is refused if %s has another version', async (file, from, to, fault) => {
  change(file, from, to);
  const { exitCode, stderr } = await check(`v${version}`);
  expect(exitCode).toBe(1);
  expect(stderr).toContain(`The ${fault}, but the tag is v${version}.`);
});

test('a version before a release can have a tag', async () => {
  // The version may be an early one already.
  const early = `${version.split('-')[0]}-rc.99`;
  change('package.json', `"version": "${version}"`, `"version": "${early}"`);
  change('package-lock.json', `"version": "${version}"`, `"version": "${early}"`);
  change('deploy/helm/weir/Chart.yaml', `\nversion: ${version}`, `\nversion: ${early}`);
  change('deploy/helm/weir/Chart.yaml', `\nappVersion: ${version}`, `\nappVersion: ${early}`);
  change('CHANGELOG.md', `## [${version}] - `, `## [${early}] - 2030-01-01\n\n- Try it.\n\n## [${version}] - `);
  expect(await check(`v${early}`)).toMatchObject({ exitCode: 0, stderr: '' });
  expect(await check('--notes', `v${early}`)).toMatchObject({ stdout: '- Try it.\n' });
  expect(await check(`v${early}.`)).toMatchObject({ exitCode: 1 });
});

test('a tag that is not a version is refused', async () => {
  expect(await check('main')).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('write it as v1.2.3') as string });
});
