/** The library packages as npm publishes them: packed, and installed by npm into a folder of their own, with what they depend on. */

import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { hangLimitMs } from '../clock/hang-limit';

const ROOT = path.resolve(__dirname, '..', '..', '..');
const TIMEOUT_MS = hangLimitMs(300_000);

export const LIBRARIES = ['client', 'limiter'] as const;

export type Library = (typeof LIBRARIES)[number];

/** The folder in which `npm run packages` puts the folders and the tarballs of all packages. */
export function packAll(): string {
  const output = mkdtempSync(path.join(tmpdir(), 'weir-packs-'));
  run(process.execPath, [path.join(ROOT, 'scripts', 'packages.mjs'), output], ROOT);
  return output;
}

/** The path of the folder, which is a project of its own. `others`: development packages that its programs use, linked. */
export function installPackages({
  packs = packAll(),
  libraries = LIBRARIES,
  others = [],
}: { readonly packs?: string; readonly libraries?: readonly Library[]; readonly others?: readonly string[] } = {}): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'weir-package-'));
  writeFileSync(path.join(folder, 'package.json'), '{ "private": true }\n');
  const { version } = JSON.parse(readFileSync(path.join(ROOT, 'package.json'), 'utf8')) as { version: string };
  const tarballs = libraries.map((name) => path.join(packs, `weir-rls-${name}-${version}.tgz`));
  // What `npm ci` has left in its cache is not fetched again.
  run('npm', ['install', '--prefer-offline', '--no-audit', '--no-fund', '--ignore-scripts', '--loglevel=error', ...tarballs], folder);
  for (const name of others) {
    const link = path.join(folder, 'node_modules', name);
    // A dependency of the packages, such as @types/node, is there already.
    if (existsSync(link)) continue;
    mkdirSync(path.dirname(link), { recursive: true });
    symlinkSync(path.join(ROOT, 'node_modules', name), link, 'dir');
  }
  return folder;
}

/** What npm has installed into a folder: the number of packages, and the bytes of their files. */
export function sizeOf(folder: string): { readonly packages: number; readonly bytes: number } {
  const modules = path.join(folder, 'node_modules');
  const { packages } = JSON.parse(readFileSync(path.join(modules, '.package-lock.json'), 'utf8')) as { packages: object };
  const files = readdirSync(modules, { recursive: true, encoding: 'utf8' }).map((name) => statSync(path.join(modules, name)));
  return {
    packages: Object.keys(packages).length,
    bytes: files.reduce((sum, stats) => sum + (stats.isFile() ? stats.size : 0), 0),
  };
}

function run(command: string, args: readonly string[], cwd: string): void {
  execFileSync(command, args, { cwd, encoding: 'utf8', timeout: TIMEOUT_MS, stdio: ['ignore', 'ignore', 'pipe'] });
}
