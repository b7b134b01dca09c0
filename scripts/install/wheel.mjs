/** Unpacks a pinned Python wheel into a folder with pip. */
import { installPython } from './debian/python.mjs';
import { failureOf, run } from '../process/run.mjs';

/**
 * Resolves to why it failed, or to undefined. The wheel fits the Python `python`, which may have no pip: that of another one unpacks it.
 *
 * @param {{ python: string, requirement: string, folder: string, options?: readonly string[], timeoutS: number }} wheel
 */
export async function unpackWheel({ python, requirement, folder, options = [], timeoutS }) {
  const { path: withPip = python } = await installPython();
  const pip = withPip === python ? ['-m', 'pip'] : ['-m', 'pip', '--python', python];
  const args = [...pip, 'install', '--quiet', '--no-input', ...options, '--only-binary', ':all:', '--target', folder, requirement];
  const ended = await run(withPip, args, { timeoutS, env: { PIP_ROOT_USER_ACTION: 'ignore' }, output: 'pipe' });
  if (ended.code === 0) return undefined;
  console.error(ended.output);
  return failureOf('pip', ended, timeoutS);
}
