// Compiles src/ to dist/ with tsc, when dist/ is missing or older than what it is made of.
import { chmodSync, existsSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { installNpm } from './install-npm.mjs';
import { ROOT, exitMissing, isMain, run } from './process.mjs';

const BUILD_TIMEOUT_S = 300;
const SRC = join(ROOT, 'src');
const DIST = join(ROOT, 'dist');
/** Written after a build that succeeded; it bears the time at which that build began. */
const STAMP = join(DIST, '.built');
const INPUTS = [SRC, ...['tsconfig.json', 'tsconfig.build.json', 'package-lock.json'].map((name) => join(ROOT, name))];

/** Resolves to undefined when dist/ is up to date, else to what went wrong. The npm packages have to be there. */
export async function build() {
  if (existsSync(STAMP) && INPUTS.every((path) => newestMs(path) < statSync(STAMP).mtimeMs)) return undefined;
  console.log('Building (tsc, src/ to dist/) …');
  const begin = new Date();
  const tsc = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc');
  const { code, timedOut } = await run(process.execPath, [tsc, '-p', 'tsconfig.build.json', '--noEmitOnError'], { timeoutS: BUILD_TIMEOUT_S });
  if (code !== 0) return timedOut ? `tsc did not end within ${BUILD_TIMEOUT_S} s` : 'tsc found the errors above';
  removeOrphans(DIST);
  // It is a command: `weir` in package.json's bin.
  chmodSync(join(DIST, 'main.js'), 0o755);
  writeFileSync(STAMP, '');
  utimesSync(STAMP, begin, begin);
  return undefined;
}

/** The newest change at or below a path; a folder's own time tells of files removed from it. */
function newestMs(path) {
  const stats = statSync(path);
  if (!stats.isDirectory()) return stats.mtimeMs;
  return Math.max(stats.mtimeMs, ...readdirSync(path).map((name) => newestMs(join(path, name))));
}

/** tsc leaves the output of a source that is gone; nobody may import that by mistake. */
function removeOrphans(directory) {
  for (const entry of readdirSync(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) {
      removeOrphans(path);
    } else if (/\.js(\.map)?$/.test(entry.name)) {
      const source = join(SRC, relative(DIST, path).replace(/\.js(\.map)?$/, '.ts'));
      if (!existsSync(source)) rmSync(path);
    }
  }
}

if (isMain(import.meta.url)) {
  const failure = (await installNpm()) ?? (await build());
  if (failure !== undefined) exitMissing(failure);
}
