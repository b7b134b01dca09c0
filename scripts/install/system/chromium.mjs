/** Finds Chromium, in which the console is tested, or unpacks or installs its package. */
import { installSystemProgram } from './system-program.mjs';
import { installIfMain } from '../fetch/tool.mjs';

/** The fonts of the packages, wherever they are: the settings of the system name its own folders. */
const FONTS = `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "urn:fontconfig:fonts.dtd">
<fontconfig>
  <dir prefix="relative">usr/share/fonts</dir>
  <dir>/usr/share/fonts</dir>
  <cachedir prefix="xdg">fontconfig</cachedir>
</fontconfig>
`;

export function installChromium() {
  return installSystemProgram({
    program: 'chromium',
    variable: 'WEIR_CHROMIUM',
    packages: { 'apt-get': 'chromium', apk: 'chromium', dnf: 'chromium', brew: 'chromium' },
    // The command of the package is a script with paths of the system.
    unpacked: { binary: 'usr/lib/chromium/chromium', env: { FONTCONFIG_FILE: '{root}/fonts.conf' }, files: { 'root/fonts.conf': FONTS } },
  });
}

await installIfMain(import.meta.url, installChromium);
