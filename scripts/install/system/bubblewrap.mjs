/** Finds bubblewrap, in which the file tree of the image runs without an engine, or installs it with the package manager of the system. */
import { installSystemProgram } from './system-program.mjs';
import { installIfMain } from '../tool.mjs';

export function installBubblewrap() {
  return installSystemProgram({
    program: 'bwrap',
    variable: 'WEIR_BUBBLEWRAP',
    packages: { 'apt-get': 'bubblewrap', apk: 'bubblewrap', dnf: 'bubblewrap', brew: 'bubblewrap' },
  });
}

await installIfMain(import.meta.url, installBubblewrap);
