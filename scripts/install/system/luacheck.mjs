/** Finds luacheck, the Lua linter, or installs it with the package manager of the system. */
import { installSystemProgram } from './system-program.mjs';
import { installIfMain } from '../tool.mjs';

export function installLuacheck() {
  return installSystemProgram({
    program: 'luacheck',
    variable: 'WEIR_LUACHECK',
    packages: { 'apt-get': 'lua-check', apk: 'luacheck', dnf: 'luacheck', brew: 'luacheck' },
  });
}

await installIfMain(import.meta.url, installLuacheck);
