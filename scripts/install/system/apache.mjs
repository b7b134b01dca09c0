/** Finds Apache and LuaSocket, with which it asks /check in the tests, or unpacks or installs their packages. */
import { existsSync } from 'node:fs';
import { installSystemProgram } from './system-program.mjs';
import { installIfMain } from '../fetch/tool.mjs';

/** The Lua of mod_lua: Debian 12 has the first, Debian 13 the second. LuaSocket comes for each. */
const LUA_VERSIONS = ['5.3', '5.4'];

export function installApache() {
  return installSystemProgram({
    program: 'apache2',
    variable: 'WEIR_APACHE',
    packages: { 'apt-get': 'apache2 lua-socket', apk: 'apache2 apache2-lua lua5.4-socket', dnf: 'httpd mod_lua lua-socket', brew: 'httpd' },
    unpacked: {
      binary: 'usr/sbin/apache2',
      env: Object.fromEntries(LUA_VERSIONS.flatMap(pathsOf)),
    },
    service: 'apache2.service',
    isComplete: () => LUA_VERSIONS.some((version) => existsSync(`/usr/share/lua/${version}/socket.lua`)),
  });
}

/**
 * Where each version of Lua looks for modules, in a variable of its own.
 *
 * @param {string} version
 * @returns {readonly [string, string][]}
 */
function pathsOf(version) {
  const name = version.replace('.', '_');
  return [
    [`LUA_PATH_${name}`, `{root}/usr/share/lua/${version}/?.lua;;`],
    [`LUA_CPATH_${name}`, `{root}/usr/lib/{triplet}/lua/${version}/?.so;;`],
  ];
}

await installIfMain(import.meta.url, installApache);
