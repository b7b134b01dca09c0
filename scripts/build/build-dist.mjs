/** Compiles src/ to dist/ with tsc, when dist/ is missing or older than its inputs. */
import { chmodSync, existsSync, readFileSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { ROOT } from '../process/repository.mjs';
import { run } from '../process/run.mjs';
import { buildConsole } from './build-console.mjs';

const BUILD_TIMEOUT_S = 300;
const SRC = join(ROOT, 'src');
const DIST = join(ROOT, 'dist');
/** The bundled console, whose files have no source of their own. */
const CONSOLE = join(DIST, 'administration', 'console');
const CONSOLE_SOURCE = join(SRC, 'administration', 'console');
/** The packages of `npm run packages`. */
const PACKAGES = join(DIST, 'packages');
const BUNDLER = join(ROOT, 'node_modules', 'esbuild');
/** Written after a successful build. Its time is when that build began; its text says whether the build checked types. */
const STAMP = join(DIST, '.built');
const TYPES_CHECKED = 'types checked\n';
const INPUTS = [
  SRC,
  ...['tsconfig.json', 'config/tsconfig.build.json', 'package.json', 'package-lock.json'].map((name) => join(ROOT, name)),
];

/**
 * Resolves to what failed, or to undefined when dist/ is up to date. The npm packages must be installed.
 * Without type checks a build takes half of the time and has the same output. A later build with type checks runs again.
 *
 * @param {{ checksTypes?: boolean }} [options]
 */
export async function buildDist({ checksTypes = true } = {}) {
  if (isUpToDate({ checksTypes })) return undefined;
  console.log(checksTypes ? 'Building dist/ from src/ (tsc) …' : 'Building dist/ from src/ (tsc, without type checks) …');
  const begin = new Date();
  const tsc = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc');
  const { code, timedOut } = await run(
    process.execPath,
    [tsc, '-p', 'config/tsconfig.build.json', '--noEmitOnError', ...(checksTypes ? [] : ['--noCheck'])],
    { timeoutS: BUILD_TIMEOUT_S },
  );
  if (code !== 0) return timedOut ? `tsc did not end within ${BUILD_TIMEOUT_S} s` : 'tsc found the errors above';
  removeOrphans(DIST);
  const failure = await buildConsole({ mentionsMissing: checksTypes });
  if (failure !== undefined) return failure;
  // It is a command: `weir` in package.json's bin.
  chmodSync(join(DIST, 'main.js'), 0o755);
  writeFileSync(STAMP, checksTypes ? TYPES_CHECKED : '');
  utimesSync(STAMP, begin, begin);
  return undefined;
}

/** @param {{ checksTypes: boolean }} wanted */
function isUpToDate({ checksTypes }) {
  if (!existsSync(STAMP) || (checksTypes && readFileSync(STAMP, 'utf8') !== TYPES_CHECKED)) return false;
  // A build without the bundler made none.
  if (!existsSync(CONSOLE) && existsSync(BUNDLER) && existsSync(CONSOLE_SOURCE)) return false;
  const { mtimeMs } = statSync(STAMP);
  return INPUTS.every((path) => newestMs(path) < mtimeMs);
}

/**
 * The newest change at or below a path. The time of a folder changes when a file in it is removed.
 *
 * @param {string} path
 * @returns {number}
 */
function newestMs(path) {
  const stats = statSync(path);
  if (!stats.isDirectory()) return stats.mtimeMs;
  return Math.max(stats.mtimeMs, ...readdirSync(path).map((name) => newestMs(join(path, name))));
}

/**
 * tsc leaves the output of a source that was removed. No import may find it. Only library packages have declarations.
 *
 * @param {string} directory
 */
function removeOrphans(directory) {
  for (const entry of readdirSync(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name);
    if (path === CONSOLE || path === PACKAGES) continue;
    if (entry.isDirectory()) {
      removeOrphans(path);
    } else if (/\.(js(\.map)?|d\.ts)$/.test(entry.name)) {
      const source = join(SRC, relative(DIST, path).replace(/\.js(\.map)?$/, '.ts'));
      if (entry.name.endsWith('.d.ts') || !existsSync(source)) rmSync(path);
    }
  }
}
