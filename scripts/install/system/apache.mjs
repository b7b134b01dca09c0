/** Finds Apache and LuaSocket, with which it asks /check in the tests, or unpacks or installs their packages. */
import { existsSync } from 'node:fs';
import { installSystemProgram } from './system-program.mjs';
import { installIfMain } from '../fetch/tool.mjs';

/** Where LuaSocket is for the Lua 5.3 of Debian's mod_lua. */
const LUA_SOCKET = '/usr/share/lua/5.3/socket.lua';

export function installApache() {
  return installSystemProgram({
    program: 'apache2',
    variable: 'WEIR_APACHE',
    packages: { 'apt-get': 'apache2 lua-socket', apk: 'apache2 apache2-lua lua5.4-socket', dnf: 'httpd mod_lua lua-socket', brew: 'httpd' },
    unpacked: {
      binary: 'usr/sbin/apache2',
      env: { LUA_PATH: '{root}/usr/share/lua/5.3/?.lua;;', LUA_CPATH: '{root}/usr/lib/{triplet}/lua/5.3/?.so;;' },
    },
    service: 'apache2.service',
    isComplete: () => existsSync(LUA_SOCKET),
  });
}

await installIfMain(import.meta.url, installApache);
