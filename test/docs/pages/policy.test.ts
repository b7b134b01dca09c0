/** The policy and the roadmap say what the code, the image and the results say. */

import { existsSync, readFileSync } from 'node:fs';
import { tableRows } from '../../support/docs/markdown';

const PAGE = 'docs/policy.md';
const page = readFileSync(PAGE, 'utf8');
const [, roadmap = ''] = readFileSync('CONTRIBUTING.md', 'utf8').split('\n### Roadmap\n');
const versions = readFileSync('docs/versions.md', 'utf8');

test('the Nodes are the oldest that packages accept and the one of the image', () => {
  const { engines } = JSON.parse(readFileSync('package.json', 'utf8')) as { engines: { node: string } };
  const [, image] = /^ARG NODE_IMAGE=node:(\d+)-slim(?:@sha256:[\da-f]{64})?$/m.exec(readFileSync('deploy/Dockerfile', 'utf8')) ?? [];
  expect(page).toContain(`- **Node** ${engines.node.replace('>=', '')} and newer, and Node ${image} in the image:`);
});

test('each promise names tests that exist', () => {
  const held = tableRows(PAGE).map(([, , cell = '']) => Array.from(cell.matchAll(/`([^`]+)`/g), ([, file = '']) => file));
  expect(held.length).toBeGreaterThan(4);
  for (const files of held) {
    expect(files).not.toEqual([]);
    for (const file of files) expect({ file, exists: existsSync(file) }).toEqual({ file, exists: true });
  }
});

test('the page says that no name is deprecated exactly while the list has none', () => {
  const { deprecated } = JSON.parse(readFileSync('docs/generated/stable-names.json', 'utf8')) as { deprecated: readonly unknown[] };
  expect(page.includes('No name is deprecated now.')).toBe(deprecated.length === 0);
});

test('what the page says of two builds is what a test of two builds promises', () => {
  const tests = readFileSync('test/release/mixed-versions.test.ts', 'utf8');
  expect(tests).toContain('two versions with the same format and other scripts share a limit, also after Redis lost all scripts');
  expect(tests).toContain('two versions with different formats count apart, and a rollback finds its own hits');
});

test('the version before 1.0.0 is still the one that the page speaks of', () => {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
  expect(version.startsWith('0.')).toBe(page.includes('Before 1.0.0 a minor version'));
});

describe('the roadmap', () => {
  test('leaves out a bar that holds, and programs that tests run already', () => {
    const bars = readFileSync('bench/results.md', 'utf8').split('\n');
    const missed = bars.filter((line) => line.startsWith('| Redis CPU, Weir / reference') && line.includes('**no**'));
    expect(roadmap.includes('**Less processor time in Redis**')).toBe(missed.length > 0);
    const untested = ['Istio', 'OpenTelemetry collector'].filter((name) => versions.includes(`\n| ${name} | none |`));
    expect(untested.filter((name) => !roadmap.includes(name))).toEqual([]);
    expect(roadmap.includes('**Tests with real programs**')).toBe(untested.length > 0);
  });

  test('waits for the first release at least while nobody maintains the project', () => {
    // A release needs them before it is published, so with maintainers the roadmap may wait for it or not.
    const hasMaintainers = existsSync('.github/CODEOWNERS');
    expect(hasMaintainers || roadmap.includes('**The first published release.**')).toBe(true);
  });
});
