/** NOTICE has the license of every package whose code is in published files. */

import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { runCommand } from '../support/processes/command';

const ROOT = resolve(__dirname, '..', '..');

/** Bundles as scripts/build/build-console.mjs does, and prints the files that came in. */
const BUNDLE = `import('esbuild').then(async ({ build }) => {
  const { metafile } = await build({
    entryPoints: ['src/administration/console/main.tsx'], bundle: true, write: false, metafile: true, format: 'esm', outdir: 'dist',
    jsx: 'automatic', jsxImportSource: 'preact', tsconfig: 'src/administration/console/tsconfig.json',
  });
  console.log(JSON.stringify(Object.keys(metafile.inputs)));
});`;

/** The packages whose files are in the script of the console. */
async function bundledPackages(): Promise<readonly string[]> {
  const { stdout } = await runCommand(process.execPath, ['-e', BUNDLE], { cwd: ROOT });
  const inputs = JSON.parse(stdout) as readonly string[];
  const packages = inputs.flatMap((name) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(name)?.[1] ?? []);
  return [...new Set(packages)].sort();
}

test('NOTICE has the license of each package in the script of the console', async () => {
  const notice = readFileSync(resolve(ROOT, 'NOTICE'), 'utf8');
  const packages = await bundledPackages();
  expect(packages).toContain('preact');
  for (const name of packages) {
    const license = readFileSync(resolve(ROOT, 'node_modules', name, 'LICENSE'), 'utf8').trim();
    expect({ name, isThere: notice.includes(`---- ${name} ----\n\n${license}\n`) }).toEqual({ name, isThere: true });
  }
  expect(Array.from(notice.matchAll(/^---- (\S+) ----$/gm), ([, name]) => name)).toEqual(packages);
});

test('LICENSE and NOTICE are in the image and in the package', () => {
  const { files } = JSON.parse(readFileSync(resolve(ROOT, 'package.json'), 'utf8')) as { readonly files: readonly string[] };
  expect(files).toContain('NOTICE');
  const dockerfile = readFileSync(resolve(ROOT, 'deploy', 'Dockerfile'), 'utf8');
  const ignored = readFileSync(resolve(ROOT, '.dockerignore'), 'utf8').split('\n');
  for (const name of ['LICENSE', 'NOTICE']) {
    expect(existsSync(resolve(ROOT, name))).toBe(true);
    expect(dockerfile).toContain(`\nCOPY ${name} ${name}\n`);
    expect(ignored).toContain(`!${name}`);
  }
});
