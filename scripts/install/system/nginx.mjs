/** Finds nginx, which asks /check in the tests, or unpacks or installs its package. */
import { installSystemProgram } from './system-program.mjs';
import { installIfMain } from '../fetch/tool.mjs';

export function installNginx() {
  return installSystemProgram({
    program: 'nginx',
    variable: 'WEIR_NGINX',
    packages: { 'apt-get': 'nginx-light', apk: 'nginx', dnf: 'nginx', brew: 'nginx' },
    unpacked: { binary: 'usr/sbin/nginx' },
    service: 'nginx.service',
  });
}

await installIfMain(import.meta.url, installNginx);
