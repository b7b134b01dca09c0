/** Puts grpcio, gRPC's C++ core for Python, into .cache/grpcio/. */
import { existsSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { which } from '../process/programs.mjs';
import { ROOT } from '../process/repository.mjs';
import { run } from '../process/run.mjs';
import { installIfMain, withUnfinishedFolder } from './tool.mjs';
import { unpackWheel } from './wheel.mjs';

const GRPCIO_VERSION = '1.85.1';

const INSTALL_TIMEOUT_S = 300;
const CACHE = join(ROOT, '.cache', 'grpcio');

/**
 * The path is the folder for PYTHONPATH.
 *
 * @returns {Promise<import('./tool.mjs').Tool>}
 */
export async function installGrpcio() {
  const python = which('python3');
  if (python === undefined)
    return {
      missing: "grpcio is installed with Python's pip, and python3 is not on PATH. Install python3 with pip, then run the command again.",
    };
  const { code, output } = await run(python, ['-c', 'import sysconfig; print(sysconfig.get_config_var("SOABI"))'], {
    timeoutS: 60,
    output: 'pipe',
  });
  if (code !== 0) return { missing: `python3 does not run: ${output.trim()}` };
  // A wheel fits one version of Python.
  const path = join(CACHE, `${GRPCIO_VERSION}-${output.trim()}`);
  if (existsSync(path)) return { path };
  console.log(`Installing grpcio ${GRPCIO_VERSION} (pip, into .cache/grpcio/) …`);
  const failure = await withUnfinishedFolder(CACHE, async (unfinished) => {
    const requirement = `grpcio==${GRPCIO_VERSION}`;
    const whyNot = await unpackWheel({ python, requirement, folder: unfinished, timeoutS: INSTALL_TIMEOUT_S });
    if (whyNot === undefined) renameSync(unfinished, path);
    return whyNot;
  });
  if (failure !== undefined)
    return {
      missing: `grpcio ${GRPCIO_VERSION} could not be installed: ${failure}. Install pip (Debian and Ubuntu: \`apt-get install python3-pip\` as root), check that it can reach its package index, then run the command again.`,
    };
  return { path };
}

await installIfMain(import.meta.url, installGrpcio);
