/** Finds redis-server for the tests, or unpacks or installs its package. The tests start it themselves. */
import { installSystemProgram } from './system-program.mjs';
import { installIfMain } from '../fetch/tool.mjs';

export function installRedis() {
  return installSystemProgram({
    program: 'redis-server',
    variable: 'WEIR_REDIS_SERVER',
    packages: { 'apt-get': 'redis-server', apk: 'redis', dnf: 'redis', brew: 'redis' },
    unpacked: { binary: 'usr/bin/redis-server', others: ['usr/bin/redis-cli'] },
    service: 'redis-server.service',
  });
}

await installIfMain(import.meta.url, installRedis);
