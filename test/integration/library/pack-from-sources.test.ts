/** `npm pack` and `npm run packages` build what they pack. */

import { cpSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { runCommand } from '../../support/processes/command';

const ROOT = path.resolve(__dirname, '..', '..', '..');
const BUILD_MS = 300_000;

/** All that a build reads. */
const SOURCES = [
  'package.json',
  'package-lock.json',
  '.npmrc',
  'tsconfig.json',
  'config/tsconfig.build.json',
  'LICENSE',
  'README.md',
].concat(['scripts', 'src', 'lua', 'proto']);

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'weir-sources-'));
  for (const name of SOURCES) cpSync(path.join(ROOT, name), path.join(folder, name), { recursive: true });
  symlinkSync(path.join(ROOT, 'node_modules'), path.join(folder, 'node_modules'), 'dir');
});

afterAll(() => {
  rmSync(folder, { recursive: true });
});

test(
  'npm pack builds what it packs: the command runs, with the console and without the library packages',
  async () => {
    const { exitCode, stderr } = await runCommand('npm', ['pack', '--loglevel=error'], { cwd: folder, timeoutMs: BUILD_MS });
    expect({ exitCode, stderr: stderr.replaceAll(/^npm warn .*\n/gm, '') }).toEqual({ exitCode: 0, stderr: '' });
    const { version } = JSON.parse(readFileSync(path.join(ROOT, 'package.json'), 'utf8')) as { version: string };
    const unpacked = await runCommand('tar', ['-xzf', `weir-rls-weir-${version}.tgz`], { cwd: folder });
    expect(unpacked.exitCode).toBe(0);
    const server = path.join(folder, 'package');
    expect(readdirSync(path.join(server, 'dist', 'administration', 'console'))).toContain('index.html');
    expect(readdirSync(path.join(server, 'dist'))).not.toContain('packages');
    const shown = await runCommand(process.execPath, ['dist/main.js', '--version'], { cwd: server });
    expect(shown.stdout).toContain(version);
  },
  BUILD_MS,
);

test(
  'npm run packages puts a tarball of each package into dist/packages',
  async () => {
    const { exitCode } = await runCommand('npm', ['run', 'packages'], { cwd: folder, timeoutMs: BUILD_MS });
    expect(exitCode).toBe(0);
    const names = readdirSync(path.join(folder, 'dist', 'packages')).map((name) => name.replace(/-\d+\.\d+\.\d+\.tgz$/, '.tgz'));
    expect(names.sort()).toEqual(['client', 'limiter', 'weir-rls-client.tgz', 'weir-rls-limiter.tgz', 'weir-rls-weir.tgz']);
  },
  BUILD_MS,
);
