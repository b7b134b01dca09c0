/** Installs the npm packages of package-lock.json into node_modules/, when they are missing or have another version. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beginFetch } from './fetch/fetch-plan.mjs';
import { parseJson } from '../process/parse-json.mjs';
import { ROOT, exitWith, isMain } from '../process/repository.mjs';
import { failureOf, run } from '../process/run.mjs';

const INSTALL_TIMEOUT_S = 900;

/** The development packages that a build needs: the compiler, and what bundles the console. The program of esbuild is in a package for its system. */
const BUILDING = [...['typescript', 'esbuild', 'preact', '@preact/signals', 'uplot'], `@esbuild/${process.platform}-${process.arch}`];
/** Comes with one of them. */
const COMES_ALONG = ['@preact/signals-core'];

/** @typedef {{ readonly version?: string, readonly integrity?: string, readonly dev?: boolean, readonly optional?: boolean, readonly devOptional?: boolean }} LockEntry */
/** @typedef {Readonly<Record<string, LockEntry>>} Packages By their folder. */

/** Installs all packages. Resolves to why it failed and what to do, or to undefined. */
export async function installNpmPackages() {
  const { wanted, installed } = readPackages();
  if (areInstalled(Object.keys(wanted), { wanted, installed })) return undefined;
  beginFetch({ name: 'npm packages', by: 'npm ci, into node_modules' });
  return runNpm(['ci', '--ignore-scripts']);
}

/**
 * Installs the packages that the server and its build need: a fifth of all. A checkout with other development packages keeps them.
 * Resolves to why it failed and what to do, or to undefined.
 */
export async function installServingPackages() {
  const { wanted, installed } = readPackages();
  const needed = new Set([...BUILDING, ...COMES_ALONG].map((name) => `node_modules/${name}`));
  const development = Object.keys(wanted).filter((path) => !needed.has(path) && wanted[path]?.dev === true);
  // A devOptional package is needed by development and optional packages only, and serving has neither.
  const serving = Object.keys(wanted).filter((path) => !development.includes(path) && wanted[path]?.devOptional !== true);
  if (areInstalled(serving, { wanted, installed })) return undefined;
  if (development.some((path) => installed[path] !== undefined)) return installNpmPackages();
  const pinned = BUILDING.flatMap((name) => {
    const version = wanted[`node_modules/${name}`]?.version;
    return version === undefined ? [] : [`${name}@${version}`];
  });
  if (!pinned.some((each) => each.startsWith('typescript@')))
    return 'package-lock.json does not pin typescript; restore the file, then run the command again.';
  console.log('Installing the npm packages that serving needs, the TypeScript compiler and the bundler of the console (npm install) …');
  // They count as dependencies here only: --no-save leaves package.json and package-lock.json as they are.
  const options = ['--ignore-scripts', '--no-save', '--save-prod', '--omit=dev', '--omit=optional'];
  return runNpm(['install', ...options, ...pinned]);
}

/** @param {readonly [string, ...string[]]} args */
async function runNpm(args) {
  const ended = await run('npm', args, { timeoutS: INSTALL_TIMEOUT_S, output: 'pipe' });
  if (ended.code === 0) return undefined;
  if (ended.code === 127) return 'npm is not on PATH. Install it (it comes with Node), then run the command again.';
  console.error(ended.output);
  return `${failureOf(`npm ${args[0]}`, ended, INSTALL_TIMEOUT_S)}; its output is above. Check that npm can reach its registry, then run the command again.`;
}

/**
 * @param {readonly string[]} paths
 * @param {{ wanted: Packages, installed: Packages }} packages
 */
function areInstalled(paths, { wanted, installed }) {
  return paths.every((path) => {
    if (path === '') return true;
    const expected = wanted[path];
    const found = installed[path];
    if (found === undefined) return expected?.optional === true;
    // The lock file may have no integrity for packages of systems that it was not written on.
    return found.version === expected?.version && (expected?.integrity === undefined || found.integrity === expected.integrity);
  });
}

/** npm records what it has installed in node_modules/.package-lock.json, without packages for other systems. */
function readPackages() {
  return {
    wanted: packagesOf(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')),
    installed: packagesOf(readInstalled()),
  };
}

function readInstalled() {
  try {
    return readFileSync(join(ROOT, 'node_modules', '.package-lock.json'), 'utf8');
  } catch {
    return '{}';
  }
}

/**
 * @param {string} lockFile
 * @returns {Packages}
 */
function packagesOf(lockFile) {
  const { packages = {} } = /** @type {{ packages?: Packages }} */ (parseJson(lockFile));
  return packages;
}

if (isMain(import.meta.url)) {
  const failure = await installNpmPackages();
  if (failure !== undefined) exitWith(failure);
}
