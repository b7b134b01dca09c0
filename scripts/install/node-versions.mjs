/** Puts pinned versions of Node into .cache/node-versions/, one folder with `node` for each. */
import { renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { isExecutable } from '../process/programs.mjs';
import { ROOT, exitWith, isMain } from '../process/repository.mjs';
import { failureOf, run } from '../process/run.mjs';
import { beginFetch } from './fetch/fetch-plan.mjs';
import { withUnfinishedFolder } from './fetch/tool.mjs';

const INSTALL_TIMEOUT_S = 180;
const CACHE = join(ROOT, '.cache', 'node-versions');

/** The Node of the image (a test compares it with deploy/Dockerfile). */
const OF_IMAGE = nodeOf('26.10.0');
/** With the other maintained lines. */
const NODES = [OF_IMAGE, nodeOf('24.21.0'), nodeOf('22.23.3')];

/** @typedef {{ readonly version: string, readonly path: string }} PinnedNode */

/**
 * @param {string} version
 * @returns {PinnedNode}
 */
function nodeOf(version) {
  return { version, path: join(CACHE, version, 'node') };
}

/**
 * Resolves to the Node of the image. A failure to install another version is printed here, and fails or skips its own test.
 *
 * @returns {Promise<import('./fetch/tool.mjs').Tool>}
 */
export async function installNodeVersions() {
  const missing = (await installAll()).get(OF_IMAGE);
  return missing === undefined ? { path: OF_IMAGE.path } : { missing };
}

/** Resolves to the reason for each Node that could not be installed. */
async function installAll() {
  const wanted = NODES.filter(({ path }) => !isExecutable(path));
  if (wanted.length > 0) beginFetch({ name: 'node-versions', by: `npm, ${wanted.map(({ version }) => version).join(', ')}` });
  /** @type {Map<PinnedNode, string>} */
  const missing = new Map();
  for (const node of wanted) {
    const failure = await withUnfinishedFolder(CACHE, (unfinished) => install(node, unfinished));
    if (failure === undefined) continue;
    const reason = `Node ${node.version} could not be installed: ${failure}, or put that version at ${node.path}.`;
    missing.set(node, reason);
    console.error(reason);
  }
  return missing;
}

const CHECK_NPM = 'Check that npm can reach its registry, which may have no build for this system';

/** From 26 on, Node's builds need it; many small systems do without. */
const GET_LIBATOMIC =
  'Install that library (Debian and Ubuntu: `apt-get install libatomic1` as root; Fedora: `dnf install libatomic`) and run the command again';

/**
 * Resolves to why it failed and what to do, or to undefined. The binary reports its version before it is moved into the cache.
 *
 * @param {PinnedNode} node
 * @param {string} unfinished
 */
async function install({ version }, unfinished) {
  try {
    const name = `node-${process.platform}-${process.arch}`;
    const options = ['--no-save', '--no-package-lock', '--ignore-scripts', '--silent'];
    const ended = await run('npm', ['install', '--prefix', unfinished, ...options, `${name}@${version}`], {
      timeoutS: INSTALL_TIMEOUT_S,
      output: 'pipe',
    });
    if (ended.code !== 0) {
      console.error(ended.output);
      return `${failureOf('npm', ended, INSTALL_TIMEOUT_S)}. ${CHECK_NPM}`;
    }
    const folder = join(unfinished, 'node_modules', name, 'bin');
    const { output } = await run(join(folder, 'node'), ['--version'], { timeoutS: 60, output: 'pipe' });
    if (output.trim() !== `v${version}`)
      return `its binary does not run on this system: ${output.trim()}. ${output.includes('libatomic.so') ? GET_LIBATOMIC : CHECK_NPM}`;
    rmSync(join(CACHE, version), { recursive: true, force: true });
    renameSync(folder, join(CACHE, version));
    return undefined;
  } catch (error) {
    return `${String(error)}. ${CHECK_NPM}`;
  }
}

if (isMain(import.meta.url)) {
  if (process.argv[2] === '--list') {
    console.log(NODES.map(({ version, path }) => `node-${version} ${path}`).join('\n'));
  } else {
    const missing = await installAll();
    if (missing.size > 0) exitWith(`${missing.size} of ${NODES.length} versions of Node could not be installed.`);
  }
}
