/** Puts Verdaccio, the registry of packages for the test of a release, into .cache/verdaccio/. It needs Node 22 or newer. */
import { existsSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../process/repository.mjs';
import { failureOf, run } from '../process/run.mjs';
import { beginFetch } from './fetch/fetch-plan.mjs';
import { installIfMain, withUnfinishedFolder } from './fetch/tool.mjs';

const VERDACCIO_VERSION = '6.10.4';

const INSTALL_TIMEOUT_S = 300;
const CACHE = join(ROOT, '.cache', 'verdaccio');

/** Verdaccio asks for a tag of node-fetch, which not every registry has. */
const PROJECT = { private: true, overrides: { 'node-fetch': '2.7.0' } };

/** @returns {Promise<import('./fetch/tool.mjs').Tool>} */
export async function installVerdaccio() {
  const folder = join(CACHE, VERDACCIO_VERSION);
  const path = join(folder, 'node_modules', 'verdaccio', 'bin', 'verdaccio');
  if (existsSync(path)) return { path };
  beginFetch({ name: 'verdaccio', by: `npm, ${VERDACCIO_VERSION}` });
  const failure = await withUnfinishedFolder(CACHE, (unfinished) => install(unfinished, folder));
  if (failure === undefined) return { path };
  return {
    missing: `Verdaccio ${VERDACCIO_VERSION} could not be installed: ${failure}. Check that npm can reach its registry, then run the command again.`,
  };
}

/**
 * Resolves to why it failed, or to undefined.
 *
 * @param {string} unfinished
 * @param {string} folder
 */
async function install(unfinished, folder) {
  writeFileSync(join(unfinished, 'package.json'), JSON.stringify(PROJECT));
  const args = ['install', '--ignore-scripts', '--no-audit', '--no-fund', `verdaccio@${VERDACCIO_VERSION}`];
  const ended = await run('npm', args, { timeoutS: INSTALL_TIMEOUT_S, output: 'pipe', cwd: unfinished });
  if (ended.code !== 0) return `${failureOf('npm install', ended, INSTALL_TIMEOUT_S)}: ${ended.output.trim()}`;
  rmSync(folder, { recursive: true, force: true });
  renameSync(unfinished, folder);
  return undefined;
}

await installIfMain(import.meta.url, installVerdaccio);
