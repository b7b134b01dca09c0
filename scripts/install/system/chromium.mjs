/** Finds Chromium, in which the console is tested, or installs it with the package manager of the system. */
import { installSystemProgram } from './system-program.mjs';
import { installIfMain } from '../tool.mjs';

export function installChromium() {
  return installSystemProgram({
    program: 'chromium',
    variable: 'WEIR_CHROMIUM',
    packages: { 'apt-get': 'chromium', apk: 'chromium', dnf: 'chromium', brew: 'chromium' },
  });
}

await installIfMain(import.meta.url, installChromium);
