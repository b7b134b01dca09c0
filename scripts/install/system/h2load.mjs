/** Finds h2load of nghttp2 for the benchmarks, or installs it with the package manager of the system. */
import { installSystemProgram } from './system-program.mjs';
import { installIfMain } from '../tool.mjs';

export function installH2load() {
  return installSystemProgram({
    program: 'h2load',
    variable: 'WEIR_H2LOAD',
    packages: { 'apt-get': 'nghttp2-client', apk: 'nghttp2', dnf: 'nghttp2', brew: 'nghttp2' },
  });
}

await installIfMain(import.meta.url, installH2load);
