/** Every package that a release ships is listed with its license, which is one of an allow list. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { runCommand } from '../support/processes/command';

const ROOT = path.resolve(__dirname, '..', '..');

interface Shipped {
  readonly name: string;
  readonly version: string;
  readonly license: string;
}

/** What the generator makes of a lock file. */
async function generated(
  lock: string,
): Promise<{ readonly packages: readonly Shipped[]; readonly faults: readonly string[]; readonly page: string }> {
  const script = `import('./scripts/generate/licenses.mjs').then(({ shippedPackages, licenseFaults, licensesPage }) => {
    const packages = shippedPackages(require('node:fs').readFileSync(process.argv[1], 'utf8'));
    console.log(JSON.stringify({ packages, faults: licenseFaults(packages), page: licensesPage(packages) }));
  });`;
  const { stdout } = await runCommand(process.execPath, ['-e', script, lock]);
  return JSON.parse(stdout) as never;
}

test('the page is what the generator writes, and no license is outside of the list', async () => {
  const { packages, faults, page } = await generated('package-lock.json');
  expect(faults).toEqual([]);
  expect(readFileSync(path.join(ROOT, 'docs', 'generated', 'licenses.md'), 'utf8')).toBe(page);
  expect(packages.length).toBeGreaterThan(100);
});

test('a package with another license, or with none, is refused by its name', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'weir-licenses-'));
  const faultsOf = async (license?: string) => {
    const file = path.join(folder, 'package-lock.json');
    writeFileSync(file, JSON.stringify({ packages: { '': {}, 'node_modules/a/node_modules/b': { version: '1.0.0', license } } }));
    return (await generated(file)).faults;
  };
  const advice = 'remove it, or allow that in scripts/generate/licenses.mjs.';
  expect(await faultsOf('GPL-3.0-only')).toEqual([`b 1.0.0 has the license GPL-3.0-only; ${advice}`]);
  expect(await faultsOf('(MIT OR GPL-3.0-only)')).toHaveLength(1);
  expect(await faultsOf()).toEqual([`b 1.0.0 has the license unknown; ${advice}`]);
  expect(await faultsOf('ISC')).toEqual([]);
  rmSync(folder, { recursive: true });
});

test('each package says the same of itself as the page', () => {
  const { packages } = JSON.parse(readFileSync(path.join(ROOT, 'package-lock.json'), 'utf8')) as {
    packages: Readonly<Record<string, { dev?: boolean; version?: string }>>;
  };
  const page = readFileSync(path.join(ROOT, 'docs', 'generated', 'licenses.md'), 'utf8');
  const shipped = Object.entries(packages).filter(([place, { dev }]) => place !== '' && dev !== true);
  const rows = shipped.map(([place]) => {
    const { name, version, license } = JSON.parse(readFileSync(path.join(ROOT, place, 'package.json'), 'utf8')) as Shipped;
    return `| \`${name}\` | ${version} | ${license} |`;
  });
  expect(
    page
      .split('\n')
      .filter((line) => line.startsWith('| `'))
      .sort(),
  ).toEqual(rows.sort());
});
