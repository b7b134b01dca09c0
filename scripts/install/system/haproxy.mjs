/** Finds HAProxy, which asks /check in the tests, or unpacks or installs its package. */
import { installSystemProgram } from './system-program.mjs';
import { installIfMain } from '../fetch/tool.mjs';

export function installHaproxy() {
  return installSystemProgram({
    program: 'haproxy',
    variable: 'WEIR_HAPROXY',
    packages: { 'apt-get': 'haproxy', apk: 'haproxy', dnf: 'haproxy', brew: 'haproxy' },
    unpacked: { binary: 'usr/sbin/haproxy' },
    service: 'haproxy.service',
  });
}

await installIfMain(import.meta.url, installHaproxy);
