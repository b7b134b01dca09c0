/** Finds zsh and fish, whose completion is tested, or installs them with the package manager of the system. */
import { installSystemProgram } from './system-program.mjs';
import { installIfMain } from '../tool.mjs';

export async function installShells() {
  const zsh = await installShell('zsh');
  const fish = await installShell('fish');
  return zsh.missing === undefined ? fish : zsh;
}

/** @param {'zsh' | 'fish'} name */
function installShell(name) {
  return installSystemProgram({
    program: name,
    variable: `WEIR_${name.toUpperCase()}`,
    packages: { 'apt-get': name, apk: name, dnf: name, brew: name },
  });
}

await installIfMain(import.meta.url, installShells);
