// Puts grpcio, gRPC's C++ core for Python, into .cache/grpcio/; nothing outside it changes.
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT, exitMissing, isMain, run, which } from './process.mjs';

const GRPCIO_VERSION = '1.85.1';

const INSTALL_TIMEOUT_S = 300;
const CACHE = join(ROOT, '.cache', 'grpcio');

/** Resolves to { path }: the folder for PYTHONPATH; or to { missing }: why there is none and what to do. */
export async function installGrpcio() {
  const python = which('python3');
  if (python === undefined) return { missing: 'grpcio is installed with Python\'s pip, and python3 is not on PATH. Install python3 with pip, then run the command again.' };
  const { code, output } = await run(python, ['-c', 'import sysconfig; print(sysconfig.get_config_var("SOABI"))'], { timeoutS: 60, output: 'pipe' });
  if (code !== 0) return { missing: `python3 does not run: ${output.trim()}` };
  // A wheel is for one version of Python.
  const path = join(CACHE, `${GRPCIO_VERSION}-${output.trim()}`);
  if (existsSync(path)) return { path };
  console.log(`Installing grpcio ${GRPCIO_VERSION} (pip, into .cache/grpcio/) …`);
  const failure = await install(python, path);
  if (failure !== undefined) return { missing: `grpcio ${GRPCIO_VERSION} could not be installed: ${failure}. Install pip (Debian and Ubuntu: \`apt-get install python3-pip\` as root), check that its package index can be reached, then run the command again.` };
  return { path };
}

/** Into a folder of its own first: a half-finished install is never taken for a whole one. */
async function install(python, path) {
  mkdirSync(CACHE, { recursive: true });
  const unfinished = mkdtempSync(join(CACHE, 'unfinished-'));
  try {
    const args = ['-m', 'pip', 'install', '--quiet', '--no-input', '--only-binary', ':all:', '--target', unfinished, `grpcio==${GRPCIO_VERSION}`];
    const { code, timedOut, output } = await run(python, args, { timeoutS: INSTALL_TIMEOUT_S, env: { PIP_ROOT_USER_ACTION: 'ignore' }, output: 'pipe' });
    if (code !== 0) {
      console.error(output);
      return timedOut ? `pip did not end within ${INSTALL_TIMEOUT_S} s` : `pip failed with exit code ${code}`;
    }
    renameSync(unfinished, path);
    return undefined;
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
  }
}

if (isMain(import.meta.url)) {
  const { path, missing } = await installGrpcio();
  if (missing !== undefined) exitMissing(missing);
  console.log(path);
}
