/**
 * What passed on the files as they are now, so that nothing runs twice without need: `npm run test:all` does not repeat what `npm test` has just
 * run, and a check of style runs again only after a change. A run in CI begins without it.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseJson } from '../process/parse-json.mjs';
import { ROOT } from '../process/repository.mjs';

/** A file for each check that passed, and what the checks themselves remember. */
export const CHECKS_FOLDER = '.cache/passed-checks';

/** What a check finds depends on these too, beside the files that it reads. */
const SETTINGS = /^(?:package-lock\.json|package\.json|tsconfig\.json|config\/.*|scripts\/lint\/.*)$/;

/** More changed files than these are checked with all others. */
const CHANGED_MAX = 200;

/** @typedef {ReadonlyMap<string, string>} Files The hash of each file, by its path. */
/** @typedef {{ readonly node: string, readonly isWhole: boolean, readonly files: Readonly<Record<string, string>> }} PassedCheck */

/**
 * The files of the repository, except those that git ignores; undefined outside of a git repository.
 *
 * @returns {Files | undefined}
 */
export function readFiles() {
  const { status, stdout } = spawnSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: ROOT,
    encoding: 'utf8',
    maxBuffer: 2 ** 26,
  });
  if (status !== 0) return undefined;
  return new Map(
    stdout
      .split('\0')
      .filter((path) => path !== '')
      .map((path) => [path, hashOf(path)]),
  );
}

/** @param {string} path */
function hashOf(path) {
  try {
    return createHash('sha256')
      .update(readFileSync(join(ROOT, path)))
      .digest('hex');
  } catch {
    // It was removed, or is a link to a folder.
    return '-';
  }
}

/**
 * One text for all files; another one after any change.
 *
 * @param {Files} files
 */
export function treeOf(files) {
  return createHash('sha256')
    .update(JSON.stringify([...files]))
    .digest('hex');
}

/**
 * What a check has to read: nothing after a pass on the same files, the changed ones after a pass on others, or all.
 *
 * @param {string} name
 * @param {{ files: Files, needsWhole: boolean }} now
 * @returns {'nothing' | 'all' | readonly string[]}
 */
export function leftToCheck(name, { files, needsWhole }) {
  const before = readCheck(name);
  if (before === undefined || before.node !== process.versions.node) return 'all';
  const code = codeOf(files);
  const changed = [...code].filter(([path, hash]) => before.files[path] !== hash).map(([path]) => path);
  const removed = Object.keys(before.files).filter((path) => !code.has(path));
  if (changed.length + removed.length === 0) return before.isWhole || !needsWhole ? 'nothing' : 'all';
  // Another file may have imported one that is gone.
  const isLocal = removed.length === 0 && changed.length <= CHANGED_MAX && !changed.some((path) => SETTINGS.test(path));
  return isLocal && !needsWhole ? changed : 'all';
}

/**
 * @param {string} name
 * @param {{ files: Files, isWhole: boolean }} passed `isWhole`: not only what had changed was read.
 */
export function keepCheck(name, { files, isWhole }) {
  mkdirSync(join(ROOT, CHECKS_FOLDER), { recursive: true });
  /** @type {PassedCheck} */
  const check = { node: process.versions.node, isWhole, files: Object.fromEntries(codeOf(files)) };
  writeFileSync(join(ROOT, CHECKS_FOLDER, `${name}.json`), JSON.stringify(check));
}

export function forgetChecks() {
  rmSync(join(ROOT, CHECKS_FOLDER), { recursive: true, force: true });
}

/**
 * Checks of style and types read no pages.
 *
 * @param {Files} files
 */
function codeOf(files) {
  return new Map([...files].filter(([path]) => !path.endsWith('.md')));
}

/**
 * @param {string} name
 * @returns {PassedCheck | undefined}
 */
function readCheck(name) {
  try {
    return /** @type {PassedCheck} */ (parseJson(readFileSync(join(ROOT, CHECKS_FOLDER, `${name}.json`), 'utf8')));
  } catch {
    return undefined;
  }
}
