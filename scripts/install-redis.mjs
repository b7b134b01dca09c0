// Finds redis-server for the tests, or installs it when we may; the tests start it themselves, so no service is wanted.
import { installProgram } from './install-program.mjs';
import { exitMissing, isMain } from './process.mjs';

/** Resolves to { path }, or to { missing }: why there is none and what to do. */
export function installRedis() {
  return installProgram({
    program: 'redis-server',
    variable: 'WEIR_REDIS_SERVER',
    packages: { 'apt-get': 'redis-server', apk: 'redis', dnf: 'redis', brew: 'redis' },
    service: 'redis-server.service',
  });
}

if (isMain(import.meta.url)) {
  const { path, missing } = await installRedis();
  if (missing !== undefined) exitMissing(missing);
  console.log(path);
}
