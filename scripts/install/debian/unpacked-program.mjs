/**
 * Unpacks packages of Debian or Ubuntu, with their libraries, into a folder of .cache/deb/, and makes a command that runs from there. Nothing
 * outside of that folder changes: no root is needed, no service is installed.
 */
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { isExecutable, which } from '../../process/programs.mjs';
import { ROOT } from '../../process/repository.mjs';
import { failureOf, run } from '../../process/run.mjs';
import { withUnfinishedFolder } from '../fetch/tool.mjs';

const CACHE = join(ROOT, '.cache', 'deb');
const LISTS_AGE_MS = 24 * 3600 * 1000;
const FETCH_TIMEOUT_S = 1800;
const UNPACK_TIMEOUT_S = 600;

/** What sets a system up, or is a part of each: no program needs it to run from a folder. A second C library would not fit the loader. */
const LEFT_OUT =
  /^(?:libc6|libc-bin|libgcc-s1|gcc-\d+-base|libcrypt1|systemd.*|libsystemd-shared|init-system-helpers|adduser|passwd|perl.*|libperl.*|debconf.*|lsb-base|logrotate|cron.*|procps|dpkg|tar|coreutils|base-files|bash|dash|debianutils|sed|python3.*|libpython3.*|man-db|groff-base|bsdextrautils|xdg-utils|dbus.*|udev|libpam-.*|ucf|sensible-utils|adwaita-icon-theme|libllvm.*|libz3-.*)$/;
const NOT_NEEDED = ['usr/share/doc', 'usr/share/man', 'usr/share/locale', 'usr/share/lintian'];

/** As Debian names the folders of libraries. */
const TRIPLET = `${process.arch === 'arm64' ? 'aarch64' : 'x86_64'}-linux-gnu`;

/**
 * How a program runs from the folder of its packages; in a value `{root}` is that folder, and `{triplet}` the name of this processor.
 *
 * @typedef {object} Unpacked
 * @property {string} packages Separated by spaces.
 * @property {string} [folder] Programs of the same packages share it.
 * @property {string} binary Its path in the packages.
 * @property {readonly string[]} [others] Paths of further programs of the packages, which get a command too.
 * @property {RegExp} [keeps] Names of packages that are unpacked though most programs do without.
 * @property {boolean} [isWhole] Packages that this system has are unpacked too: parts of the program belong into one folder.
 * @property {string} [interpreter] The path of what runs it.
 * @property {Readonly<Record<string, string>>} [env]
 * @property {Readonly<Record<string, string>>} [files] Written beside the packages, by their path.
 */

/** Whether this machine has packages of Debian or Ubuntu. */
export function canUnpack() {
  return which('apt-get') !== undefined && which('dpkg-deb') !== undefined;
}

/** Tools of the system are passed over, and all packages counted as missing: so a machine that has them can test the others. */
export function isUnpackingForced() {
  return process.env.WEIR_TOOLS === 'unpacked';
}

/**
 * @param {string} program
 * @param {Unpacked} unpacked
 * @param {{ cache?: string }} [options]
 * @returns {Promise<import('../fetch/tool.mjs').Tool>}
 */
export async function unpackProgram(program, unpacked, { cache = CACHE } = {}) {
  const folder = folderOf(program, { ...unpacked, cache });
  const path = join(folder, 'bin', program);
  const others = unpacked.others ?? [];
  if ([path, ...others.map((other) => join(folder, 'bin', basename(other)))].every(isExecutable)) return { path };
  if (!existsSync(folder)) {
    const missing = await withUnfinishedFolder(cache, async (unfinished) => {
      const failure = (await fetchPackages(unpacked, { cache, folder: unfinished })) ?? (await unpackAll(unfinished));
      if (failure !== undefined) return failure;
      mkdirSync(dirname(folder), { recursive: true });
      renameSync(unfinished, folder);
      return undefined;
    });
    if (missing !== undefined) return { missing };
  }
  writeCommand({ program, unpacked, folder });
  for (const binary of others) writeCommand({ program: basename(binary), unpacked: { ...unpacked, binary }, folder });
  return { path };
}

/**
 * Whether nothing has to be fetched for it.
 *
 * @param {string} program
 * @param {Pick<Unpacked, 'folder' | 'binary' | 'isWhole'>} unpacked
 */
export function isUnpacked(program, unpacked) {
  return existsSync(folderOf(program, unpacked));
}

/**
 * What was unpacked beside the libraries of this system may lack some elsewhere.
 *
 * @param {string} program
 * @param {{ folder?: string, cache?: string, isWhole?: boolean }} unpacked
 */
function folderOf(program, { folder = program, cache = CACHE, isWhole = false }) {
  return join(cache, isWhole || isUnpackingForced() ? 'whole' : 'missing', folder);
}

/**
 * Resolves to why it failed, or to undefined.
 *
 * @param {Unpacked} unpacked
 * @param {{ cache: string, folder: string }} where
 */
async function fetchPackages({ packages, keeps, isWhole = false }, { cache, folder }) {
  await renewLists(cache);
  const uris = await apt({ cache, isWhole }, [
    'install',
    '--print-uris',
    '--quiet=2',
    '--yes',
    '--no-install-recommends',
    '--reinstall',
    ...packages.split(' '),
  ]);
  if (uris.code !== 0) return whyNot('apt-get install --print-uris', uris, FETCH_TIMEOUT_S);
  const wanted = [...uris.output.matchAll(/^'[^']*' (\S+)_(\S+)_(\S+)\.deb \d+/gm)].filter(
    ([, name = '']) => !LEFT_OUT.test(name) || keeps?.test(name) === true,
  );
  const names = wanted.map(([, name, version, architecture]) => {
    const suffix = architecture === 'all' ? '' : `:${architecture}`;
    return `${name}${suffix}=${decodeURIComponent(version ?? '')}`;
  });
  const fetched = await apt({ cache, isWhole, cwd: folder }, ['download', '--quiet=2', ...names]);
  return fetched.code === 0 ? undefined : whyNot('apt-get download', fetched, FETCH_TIMEOUT_S);
}

/**
 * The lists of packages are apart from those of the system, which only root may renew. An index that cannot be reached fails nothing yet: the
 * packages may be in another one.
 *
 * @param {string} cache
 */
async function renewLists(cache) {
  const state = join(cache, 'state');
  mkdirSync(join(state, 'lists', 'partial'), { recursive: true });
  mkdirSync(join(cache, 'archives', 'partial'), { recursive: true });
  writeFileSync(join(state, 'none'), '');
  const stamp = join(state, 'renewed');
  const renewedMs = statSync(stamp, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  if (Date.now() - renewedMs < LISTS_AGE_MS) return;
  const { code, output } = await apt({ cache }, ['update', '--quiet=2']);
  if (code === 0) writeFileSync(stamp, '');
  else console.error(output);
}

/**
 * @param {{ cache: string, isWhole?: boolean, cwd?: string }} options
 * @param {readonly string[]} args
 */
function apt({ cache, isWhole = false, cwd }, args) {
  const state = join(cache, 'state');
  const settings = {
    'Dir::State': state,
    'Dir::State::status': isWhole || isUnpackingForced() ? join(state, 'none') : '/var/lib/dpkg/status',
    'Dir::State::extended_states': join(state, 'extended'),
    'Dir::Cache': cache,
    // Caches of the lists are larger than the lists.
    'Dir::Cache::pkgcache': '',
    'Dir::Cache::srcpkgcache': '',
    // apt of root would give its files to another user.
    'APT::Sandbox::User': 'root',
    'Acquire::Languages': 'none',
  };
  const options = Object.entries(settings).flatMap(([name, value]) => ['-o', `${name}=${value}`]);
  return run('apt-get', [...options, ...args], { timeoutS: FETCH_TIMEOUT_S, output: 'pipe', env: { LC_ALL: 'C.UTF-8' }, cwd });
}

/**
 * @param {string} command
 * @param {import('../../process/run.mjs').Ended} ended
 * @param {number} timeoutS
 */
function whyNot(command, ended, timeoutS) {
  console.error(ended.output);
  return failureOf(`\`${command}\``, ended, timeoutS);
}

/**
 * Resolves to why it failed, or to undefined.
 *
 * @param {string} folder
 */
async function unpackAll(folder) {
  const root = join(folder, 'root');
  mkdirSync(root);
  for (const file of readdirSync(folder).filter((name) => name.endsWith('.deb'))) {
    const ended = await run('dpkg-deb', ['-x', join(folder, file), root], { timeoutS: UNPACK_TIMEOUT_S, output: 'pipe' });
    if (ended.code !== 0) return whyNot(`dpkg-deb -x ${file}`, ended, UNPACK_TIMEOUT_S);
    rmSync(join(folder, file));
  }
  for (const path of NOT_NEEDED) rmSync(join(root, path), { recursive: true, force: true });
  return undefined;
}

/**
 * A script that starts the program with its libraries. The shell becomes the program, so signals reach it.
 *
 * @param {{ program: string, unpacked: Unpacked, folder: string }} options
 */
function writeCommand({ program, unpacked: { binary, interpreter, env = {}, files = {} }, folder }) {
  const root = join(folder, 'root');
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  const libraries = libraryFolders(root).map((path) => `$root/${path}`);
  const variables = { LD_LIBRARY_PATH: libraries.join(':'), ...env };
  const lines = Object.entries(variables).map(
    ([name, value]) => `export ${name}="${value.replaceAll('{root}', '$root').replaceAll('{triplet}', TRIPLET)}"`,
  );
  const started = [interpreter, binary].flatMap((path) => (path === undefined ? [] : [`"$root/${path}"`]));
  const script = ['#!/bin/sh', 'root="$(cd "${0%/*}/../root" && pwd)"', ...lines, `exec ${started.join(' ')} "$@"`, ''].join('\n');
  mkdirSync(join(folder, 'bin'), { recursive: true });
  writeFileSync(join(folder, 'bin', program), script, { mode: 0o755 });
}

/**
 * The folders with shared libraries, relative to the root. Programs look into some of them by paths that are not theirs here.
 *
 * @param {string} root
 */
function libraryFolders(root) {
  /** @type {string[]} */
  const found = [];
  for (const base of ['lib', 'usr/lib']) {
    for (const name of foldersIn(join(root, base)).filter((each) => each.includes('-linux-'))) {
      const folder = join(base, name);
      const inner = foldersIn(join(root, folder)).map((each) => join(folder, each));
      found.push(...[folder, ...inner].filter((path) => hasLibrary(join(root, path))));
    }
  }
  return found;
}

/** @param {string} folder */
function foldersIn(folder) {
  if (statSync(folder, { throwIfNoEntry: false }) === undefined) return [];
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name);
}

/** @param {string} folder */
function hasLibrary(folder) {
  return readdirSync(folder).some((name) => /^lib.*\.so(?:\.|$)/.test(name));
}
