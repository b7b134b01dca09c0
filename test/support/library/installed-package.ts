/** The package as npm publishes it, in a folder of its own: packed, unpacked as `weir`, and with its dependencies linked. */

import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

const ROOT = path.resolve(__dirname, '..', '..', '..');
const TIMEOUT_MS = 120_000;

/** The path of the folder. `others`: development packages that its programs use. */
export function installPackage({ others = [] }: { readonly others?: readonly string[] } = {}): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'weir-package-'));
  const modules = path.join(folder, 'node_modules');
  const target = path.join(modules, 'weir');
  mkdirSync(target, { recursive: true });
  const packed = execFileSync('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', folder], {
    cwd: ROOT,
    encoding: 'utf8',
    timeout: TIMEOUT_MS,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const [{ filename }] = JSON.parse(packed) as [{ readonly filename: string }];
  execFileSync('tar', ['-xzf', path.join(folder, filename), '--strip-components', '1', '-C', target], { timeout: TIMEOUT_MS });
  const { dependencies } = JSON.parse(readFileSync(path.join(target, 'package.json'), 'utf8')) as { dependencies: Record<string, string> };
  for (const name of [...Object.keys(dependencies), ...others]) {
    mkdirSync(path.dirname(path.join(modules, name)), { recursive: true });
    symlinkSync(path.join(ROOT, 'node_modules', name), path.join(modules, name), 'dir');
  }
  return folder;
}
