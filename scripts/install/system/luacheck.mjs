/** Finds luacheck, the Lua linter, or unpacks or installs its package. */
import { installSystemProgram } from './system-program.mjs';
import { installIfMain } from '../fetch/tool.mjs';

export function installLuacheck() {
  return installSystemProgram({
    program: 'luacheck',
    variable: 'WEIR_LUACHECK',
    packages: { 'apt-get': 'lua-check lua5.1', apk: 'luacheck', dnf: 'luacheck', brew: 'luacheck' },
    unpacked: {
      binary: 'usr/bin/luacheck',
      interpreter: 'usr/bin/lua5.1',
      env: {
        LUA_PATH: '{root}/usr/share/lua/5.1/?.lua;{root}/usr/share/lua/5.1/?/init.lua;;',
        LUA_CPATH: '{root}/usr/lib/{triplet}/lua/5.1/?.so;;',
      },
    },
  });
}

await installIfMain(import.meta.url, installLuacheck);
