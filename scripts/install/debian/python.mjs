/** Finds a Python with pip, or unpacks the packages of Debian and Ubuntu, to fetch wheels with it. The tests themselves run none but that on PATH. */
import { which } from '../../process/programs.mjs';
import { run } from '../../process/run.mjs';
import { beginStep } from '../fetch/fetch-plan.mjs';
import { installIfMain } from '../fetch/tool.mjs';
import { canUnpack, isUnpacked, isUnpackingForced, unpackProgram } from './unpacked-program.mjs';

const UNPACKED = {
  packages: 'python3 python3-pip',
  binary: 'usr/bin/python3',
  env: { PYTHONHOME: '{root}/usr' },
  keeps: /^(?:lib)?python3/,
  // Many systems have a Python without pip; the two come from one folder.
  isWhole: true,
};
const ADVICE = 'Install python3 with pip (Debian and Ubuntu: `apt-get install python3-pip` as root).';

/** @returns {Promise<import('../fetch/tool.mjs').Tool>} */
export async function installPython() {
  const found = isUnpackingForced() ? undefined : which('python3');
  if (found !== undefined && (await hasPip(found))) return { path: found };
  if (!canUnpack()) return { missing: found === undefined ? `python3 is not on PATH. ${ADVICE}` : `python3 has no pip. ${ADVICE}` };
  const isPlan = !isUnpacked('python3', UNPACKED) && beginStep({ name: 'python3', by: 'apt-get, into .cache/deb' });
  if (isPlan) return { path: 'python3' };
  const unpacked = await unpackProgram('python3', UNPACKED);
  return unpacked.path === undefined ? { missing: `python3 could not be unpacked: ${unpacked.missing}. ${ADVICE}` } : unpacked;
}

/** @param {string} python */
async function hasPip(python) {
  return (await run(python, ['-m', 'pip', '--version'], { timeoutS: 600, output: 'pipe' })).code === 0;
}

await installIfMain(import.meta.url, installPython);
