/** Programs of Debian packages run from `.cache/` with their libraries, without root and without a service. */

import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { runCommand, type CommandResult } from '../../support/processes/command';

const TRIPLET = `${process.arch === 'arm64' ? 'aarch64' : 'x86_64'}-linux-gnu`;
const folder = mkdtempSync(path.join(tmpdir(), 'weir-unpacked-'));
const repository = path.join(folder, 'repository');
const cache = path.join(folder, 'cache');
const aptConfig = path.join(folder, 'apt.conf');

const canUnpack = ['/usr/bin/apt-get', '/usr/bin/dpkg-deb'].every((program) => existsSync(program));
const check = canUnpack ? test : test.skip;

interface Package {
  readonly name: string;
  readonly depends?: string;
  readonly files: Readonly<Record<string, string>>;
}

/** Prints where it looks for libraries, a variable, and its arguments. */
const PROGRAM = '#!/bin/sh\necho "$LD_LIBRARY_PATH"; cat "$GREETING"; echo "$@"; exec sleep "${NAP:-0}"\n';

const PACKAGES: readonly Package[] = [
  {
    name: 'weir-example',
    depends: 'libweir-example, adduser, base-passwd',
    files: { 'usr/bin/weir-example': PROGRAM, 'usr/share/doc/weir/long': 'x' },
  },
  { name: 'libweir-example', files: { [`usr/lib/${TRIPLET}/inner/libweir.so.1`]: 'no library', 'usr/share/greeting': 'hello\n' } },
  // Each Debian has a package of this name.
  { name: 'base-passwd', files: { 'usr/share/part': 'of the program' } },
  { name: 'adduser', files: { 'usr/sbin/adduser': 'changes the system' } },
];

/** The packages, and the index that names them. */
function makeRepository(): void {
  mkdirSync(repository);
  const entries = PACKAGES.map(({ name, depends = '', files }) => {
    const tree = path.join(folder, 'trees', name);
    const control = [`Package: ${name}`, 'Version: 1:1.0-1', 'Architecture: all', 'Maintainer: nobody <nobody@example.org>'];
    if (depends !== '') control.push(`Depends: ${depends}`);
    const all = { ...files, 'DEBIAN/control': [...control, 'Description: an example', ''].join('\n') };
    for (const [file, text] of Object.entries(all)) {
      mkdirSync(path.dirname(path.join(tree, file)), { recursive: true });
      writeFileSync(path.join(tree, file), text, { mode: 0o755 });
    }
    const deb = path.join(repository, `${name}.deb`);
    execFileSync('dpkg-deb', ['--root-owner-group', '--build', tree, deb], { stdio: 'pipe' });
    const bytes = readFileSync(deb);
    const hash = createHash('sha256').update(bytes).digest('hex');
    return [...control, 'Description: an example', `Filename: ./${name}.deb`, `Size: ${bytes.length}`, `SHA256: ${hash}`, ''].join('\n');
  });
  writeFileSync(path.join(repository, 'Packages'), entries.join('\n'));
  writeFileSync(path.join(folder, 'sources.list'), `deb [trusted=yes] file:${repository} ./\n`);
  writeFileSync(aptConfig, `Dir::Etc::sourcelist "${folder}/sources.list";\nDir::Etc::sourceparts "/dev/null";\n`);
}

interface UnpackOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly isWhole?: boolean;
}

async function unpack({ env = {}, isWhole = false }: UnpackOptions = {}): Promise<CommandResult> {
  const script = `
    import { unpackProgram } from './scripts/install/debian/unpacked-program.mjs';
    const unpacked = { packages: 'weir-example', binary: 'usr/bin/weir-example', env: { GREETING: '{root}/usr/share/greeting' }, isWhole: ${isWhole} };
    console.log(JSON.stringify(await unpackProgram('weir-example', unpacked, { cache: ${JSON.stringify(cache)} })));`;
  return runCommand(process.execPath, ['--input-type=module', '-e', script], { env: { APT_CONFIG: aptConfig, ...env } });
}

beforeAll(() => {
  if (canUnpack) makeRepository();
});

afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

check('a program runs with its libraries and files, and nothing that sets a system up is unpacked', async () => {
  const { stdout, stderr } = await unpack({ env: { WEIR_TOOLS: 'unpacked' } });
  expect(stderr).toBe('');
  const { path: program } = JSON.parse(stdout) as { path: string };
  expect(program).toBe(path.join(cache, 'whole', 'weir-example', 'bin', 'weir-example'));
  const root = path.join(cache, 'whole', 'weir-example', 'root');
  const ran = await runCommand(program, ['one', 'two words']);
  expect(ran.stdout).toBe(`${root}/usr/lib/${TRIPLET}/inner\nhello\none two words\n`);
  expect(existsSync(path.join(root, 'usr', 'sbin'))).toBe(false);
  expect(existsSync(path.join(root, 'usr', 'share', 'doc'))).toBe(false);
  expect(readdirSync(cache).filter((name) => name.startsWith('unfinished'))).toEqual([]);
});

check('a program of which the system has a part is unpacked with that part only if it must be whole', async () => {
  const partOf = (kind: string) => path.join(cache, kind, 'weir-example', 'root', 'usr', 'share', 'part');
  rmSync(path.join(cache, 'whole'), { recursive: true, force: true });
  expect(await unpack()).toMatchObject({ exitCode: 0, stderr: '' });
  expect(await unpack({ isWhole: true })).toMatchObject({ exitCode: 0, stderr: '' });
  expect(['missing', 'whole'].map((kind) => existsSync(partOf(kind)))).toEqual([false, true]);
  rmSync(path.join(cache, 'missing'), { recursive: true });
});

check('a package that there is not is named by apt, and leaves nothing behind', async () => {
  writeFileSync(path.join(folder, 'sources.list'), '');
  const { stdout, stderr } = await unpack();
  expect(JSON.parse(stdout)).toEqual({ missing: '`apt-get install --print-uris` failed with exit code 100' });
  expect(stderr).toContain('weir-example');
  expect(existsSync(path.join(cache, 'missing'))).toBe(false);
});
