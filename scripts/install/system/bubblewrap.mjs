/** Finds bubblewrap, in which the file tree of the image runs without an engine, or unpacks or installs its package. */
import { run } from '../../process/run.mjs';
import { installSystemProgram } from './system-program.mjs';
import { installIfMain } from '../fetch/tool.mjs';

/** What the tests need of it. */
const TRIAL = ['--unshare-user', '--unshare-pid', '--unshare-net', '--ro-bind', '/', '/', 'true'];
const TRIAL_TIMEOUT_S = 30;

/** @returns {Promise<import('../fetch/tool.mjs').Tool>} */
export async function installBubblewrap() {
  const tool = await installSystemProgram({
    program: 'bwrap',
    variable: 'WEIR_BUBBLEWRAP',
    packages: { 'apt-get': 'bubblewrap', apk: 'bubblewrap', dnf: 'bubblewrap', brew: 'bubblewrap' },
    unpacked: { binary: 'usr/bin/bwrap' },
  });
  if (tool.missing !== undefined) return tool;
  const { code, output } = await run(tool.path, TRIAL, { timeoutS: TRIAL_TIMEOUT_S, output: 'pipe' });
  if (code === 0) return tool;
  return {
    missing: `bubblewrap cannot make user namespaces on this machine: ${output.trim()}. Allow them (Ubuntu: \`sysctl kernel.apparmor_restrict_unprivileged_userns=0\` as root; a container: without seccomp), then run the command again.`,
  };
}

await installIfMain(import.meta.url, installBubblewrap);
