/** Unpacks a pinned Python wheel into a folder with pip. */
import { failureOf, run } from '../process/run.mjs';

/**
 * Resolves to why it failed, or to undefined. `python` has pip; the wheel fits the Python `runsOn`, which may have none.
 *
 * @param {{ python: string, runsOn?: string, requirement: string, folder: string, options?: readonly string[], timeoutS: number }} wheel
 */
export async function unpackWheel({ python, runsOn = python, requirement, folder, options = [], timeoutS }) {
  const pip = runsOn === python ? ['-m', 'pip'] : ['-m', 'pip', '--python', runsOn];
  const args = [...pip, 'install', '--quiet', '--no-input', ...options, '--only-binary', ':all:', '--target', folder, requirement];
  const ended = await run(python, args, { timeoutS, env: { PIP_ROOT_USER_ACTION: 'ignore' }, output: 'pipe' });
  if (ended.code === 0) return undefined;
  console.error(ended.output);
  return failureOf('pip', ended, timeoutS);
}
