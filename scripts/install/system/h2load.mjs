/** Finds h2load of nghttp2 for the benchmarks, or unpacks or installs its package. */
import { installSystemProgram } from './system-program.mjs';
import { installIfMain } from '../fetch/tool.mjs';

export function installH2load() {
  return installSystemProgram({
    program: 'h2load',
    variable: 'WEIR_H2LOAD',
    packages: { 'apt-get': 'nghttp2-client', apk: 'nghttp2', dnf: 'nghttp2', brew: 'nghttp2' },
    unpacked: { binary: 'usr/bin/h2load' },
  });
}

await installIfMain(import.meta.url, installH2load);
