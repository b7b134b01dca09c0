/** Finds HAProxy, which asks /check in the tests, or installs it with the package manager of the system. */
import { installSystemProgram } from './system-program.mjs';
import { installIfMain } from '../tool.mjs';

export function installHaproxy() {
  return installSystemProgram({
    program: 'haproxy',
    variable: 'WEIR_HAPROXY',
    packages: { 'apt-get': 'haproxy', apk: 'haproxy', dnf: 'haproxy', brew: 'haproxy' },
    service: 'haproxy.service',
  });
}

await installIfMain(import.meta.url, installHaproxy);
