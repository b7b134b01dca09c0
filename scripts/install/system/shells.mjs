/** Finds zsh and fish, whose completion is tested, or unpacks or installs their packages. */
import { installSystemProgram } from './system-program.mjs';
import { installIfMain } from '../fetch/tool.mjs';

export function installZsh() {
  return installShell('zsh');
}

export function installFish() {
  return installShell('fish');
}

/** @param {'zsh' | 'fish'} name */
function installShell(name) {
  return installSystemProgram({
    program: name,
    variable: `WEIR_${name.toUpperCase()}`,
    packages: { 'apt-get': name, apk: name, dnf: name, brew: name },
    // The test needs no module of zsh. fish looks for its functions beside itself.
    unpacked: {
      binary: name === 'zsh' ? 'bin/zsh' : 'usr/bin/fish',
      ...(name === 'fish' && { files: { 'root/usr/etc/fish/config.fish': '' } }),
    },
  });
}

await installIfMain(import.meta.url, async () => {
  const zsh = await installZsh();
  return zsh.missing === undefined ? installFish() : zsh;
});
