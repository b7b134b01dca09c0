// Puts pinned versions of Node into .cache/node-versions/, a folder with `node` for each; nothing outside it changes.
import { mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT, exitMissing, isExecutable, isMain, run } from './process.mjs';

const INSTALL_TIMEOUT_S = 180;
const CACHE = join(ROOT, '.cache', 'node-versions');

/** The one of the image first (a test compares it with deploy/Dockerfile), then the other lines that are maintained. */
const VERSIONS = ['26.10.0', '24.21.0', '22.23.3'];

const NODES = VERSIONS.map((version) => ({ version, path: join(CACHE, version, 'node') }));

/**
 * Resolves to { path } of the image's, or to { missing }: why there is none and what to do. Another version that can't be had is
 * named here, and its test says what that means.
 */
export async function installNodeVersions() {
  const [ofImage] = NODES;
  const absent = await installAll();
  return absent.get(ofImage) === undefined ? { path: ofImage.path } : { missing: absent.get(ofImage) };
}

/** Resolves to what is to be told of each that could not be installed. */
async function installAll() {
  const wanted = NODES.filter(({ path }) => !isExecutable(path));
  if (wanted.length > 0) console.log(`Installing Node ${wanted.map(({ version }) => version).join(', ')} (npm, into .cache/node-versions/) …`);
  const absent = new Map();
  for (const node of wanted) {
    const failure = await install(node);
    if (failure === undefined) continue;
    absent.set(node, `Node ${node.version} could not be installed: ${failure}. Check that the npm registry can be reached and has a build for this system, or put that version at ${node.path}.`);
    console.error(absent.get(node));
  }
  return absent;
}

/** Into a folder of its own first, and there asked for its version: what stands in the cache is what its name says. */
async function install({ version }) {
  mkdirSync(CACHE, { recursive: true });
  const unfinished = mkdtempSync(join(CACHE, 'unfinished-'));
  try {
    const name = `node-${process.platform}-${process.arch}`;
    const args = ['install', '--prefix', unfinished, '--no-save', '--no-package-lock', '--ignore-scripts', '--silent', `${name}@${version}`];
    const { code, timedOut, output } = await run('npm', args, { timeoutS: INSTALL_TIMEOUT_S, output: 'pipe' });
    if (code !== 0) {
      console.error(output);
      return `npm ${timedOut ? `did not end within ${INSTALL_TIMEOUT_S} s` : `failed with exit code ${code}`}`;
    }
    const folder = join(unfinished, 'node_modules', name, 'bin');
    const asked = await run(join(folder, 'node'), ['--version'], { timeoutS: 60, output: 'pipe' });
    if (asked.output.trim() !== `v${version}`) return `its binary does not run here: ${asked.output.trim()}`;
    rmSync(join(CACHE, version), { recursive: true, force: true });
    renameSync(folder, join(CACHE, version));
    return undefined;
  } catch (error) {
    return error.message;
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
  }
}

if (isMain(import.meta.url)) {
  if (process.argv[2] === '--list') {
    console.log(NODES.map(({ version, path }) => `node-${version} ${path}`).join('\n'));
  } else {
    const absent = await installAll();
    if (absent.size > 0) exitMissing(`${absent.size} of ${NODES.length} could not be installed.`);
  }
}
