/** The page of versions has those that the tests run with, and the table of engines what ran on each of them. */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { runCommand } from '../../support/processes/command';

const PAGE = readFileSync('docs/versions.md', 'utf8');

/** The version that a file pins in a constant of this name. */
function pinned(file: string, pattern: RegExp): string[] {
  const versions = Array.from(readFileSync(file, 'utf8').matchAll(pattern), ([, version]) => version!);
  expect(versions).not.toEqual([]);
  return versions;
}

test.each([
  ['Envoy', 'scripts/install/envoy.mjs', /ENVOY_VERSION = '([\d.]+)'/g],
  ['Envoy', 'scripts/install/older-envoys.mjs', /'(\d+\.\d+\.\d+)'/g],
  ['Node', 'scripts/install/node-versions.mjs', /nodeOf\('([\d.]+)'\)/g],
  ['Envoy Gateway', 'test/kubernetes/go/envoy-gateway-config/go.mod', /envoyproxy\/gateway v([\d.]+)/g],
  ['Kubernetes', 'scripts/install/kubernetes/schemas.mjs', /'v(\d+\.\d+)\.\d+'/g],
  ['Helm', 'scripts/install/go/helm.mjs', /HELM_VERSION = 'v([\d.]+)'/g],
  ['kustomize', 'scripts/install/go/kustomize.mjs', /KUSTOMIZE_VERSION = 'v([\d.]+)'/g],
  ['Caddy', 'scripts/install/go/caddy.mjs', /CADDY_VERSION = 'v([\d.]+)'/g],
  ['Traefik', 'scripts/install/traefik.mjs', /TRAEFIK_VERSION = '([\d.]+)'/g],
])('the row of %s has the version that is pinned', (name, file, pattern) => {
  const row = PAGE.split('\n').find(
    (line) =>
      line.startsWith('|') &&
      line
        .split('|')[1]!
        .split(',')
        .some((each) => each.trim() === name),
  );
  expect(row).toBeDefined();
  for (const version of pinned(file, pattern)) expect(row).toContain(version);
});

test('a version that a comment in deploy/envoy asks for is not newer than the Envoy that is tested', () => {
  const [tested = ''] = pinned('scripts/install/envoy.mjs', /ENVOY_VERSION = '1\.(\d+)/g);
  const files = readdirSync('deploy/envoy', { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.yaml'));
  const asked = files.flatMap((file) =>
    Array.from(readFileSync(path.join('deploy/envoy', file), 'utf8').matchAll(/Envoy 1\.(\d+)/g), ([, minor]) => Number(minor)),
  );
  expect(asked.length).toBeGreaterThan(5);
  expect(Math.max(...asked)).toBeLessThanOrEqual(Number(tested));
});

describe('the table of engines', () => {
  /** The page that the script writes when these are the results of stages. */
  async function pageWith(stages: readonly unknown[]): Promise<string> {
    const script = `
      import { versionsPage } from './scripts/generate/versions.mjs';
      import { readFileSync } from 'node:fs';
      process.stdout.write(versionsPage(readFileSync('docs/versions.md', 'utf8'), ${JSON.stringify(stages)}));`;
    const { stdout, stderr } = await runCommand(process.execPath, ['--input-type=module', '-e', script]);
    if (stdout === '') throw new Error(stderr);
    return stdout;
  }

  function rowOf(page: string, engine: string): string | undefined {
    return page.split('\n').find((line) => line.startsWith(`| ${engine} |`));
  }

  /** A test of each suite passed. */
  const passed = [
    'contract/a.test.ts',
    'integration/redis/keys.test.ts',
    'integration/control/a.test.ts',
    'integration/redis/redis-sentinel.test.ts',
    'integration/redis/redis-cluster.test.ts',
    'faults/a.test.ts',
  ].map((file) => ({ file: `test/${file}`, name: 'n', status: 'passed', figures: [] }));
  const run = { date: '2026-01-02', form: 'long' };

  test('the table is that of the list of engines, and no cell is written by hand', async () => {
    expect(await pageWith([])).toBe(PAGE);
  });

  test('each engine has run', () => {
    const rows = PAGE.split('\n').filter((line) => /^\| (Redis|Valkey) \d/.test(line));
    expect(rows.length).toBeGreaterThan(3);
    for (const row of rows) expect(row).toMatch(/^\| \w+ [\d.]+ (\| ([\d,]+( \(\d+\))?|not run) ){6}\| \d{4}-\d\d-\d\d \|$/);
  });

  test('a cell has what ran, and the suites that an engine cannot run are named', async () => {
    const skipped = { ...passed[3]!, name: 'TLS', status: 'pending' };
    const page = await pageWith(['redis-6.0.5', 'redis-8.2.3'].map((stage) => ({ stage, run, tests: [...passed, skipped] })));
    const cells = '| 1 | 1 | 1 | 1 (1) |';
    expect(rowOf(page, 'Redis 8.2.3')).toBe(`| Redis 8.2.3 ${cells} 1 | 1 | 2026-01-02 |`);
    expect(rowOf(page, 'Redis 6.0.5')).toBe(`| Redis 6.0.5 ${cells} not run | not run | 2026-01-02 |`);
    expect(rowOf(page, 'Valkey 9.1.2')).toBe(rowOf(PAGE, 'Valkey 9.1.2'));
  });

  test('results with a failed test, or without a suite, are refused', async () => {
    const failed = { ...passed[0]!, name: 'it breaks', status: 'failed' };
    await expect(pageWith([{ stage: 'redis-8.2.3', run, tests: [...passed, failed] }])).rejects.toThrow('a test failed: test/contract/a');
    await expect(pageWith([{ stage: 'redis-8.2.3', run, tests: passed.slice(1) }])).rejects.toThrow('no test of test/contract');
  });
});
