/** Finds redis-server for the tests, or installs it with the package manager of the system. The tests start it themselves. */
import { installSystemProgram } from './system-program.mjs';
import { installIfMain } from '../tool.mjs';

export function installRedis() {
  return installSystemProgram({
    program: 'redis-server',
    variable: 'WEIR_REDIS_SERVER',
    packages: { 'apt-get': 'redis-server', apk: 'redis', dnf: 'redis', brew: 'redis' },
    service: 'redis-server.service',
  });
}

await installIfMain(import.meta.url, installRedis);
