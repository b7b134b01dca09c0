// Finds h2load of nghttp2 for the benchmarks, or installs it when we may.
import { installProgram } from './install-program.mjs';
import { exitMissing, isMain } from './process.mjs';

/** Resolves to { path }, or to { missing }: why there is none and what to do. */
export function installH2load() {
  return installProgram({
    program: 'h2load',
    variable: 'WEIR_H2LOAD',
    packages: { 'apt-get': 'nghttp2-client', apk: 'nghttp2', dnf: 'nghttp2', brew: 'nghttp2' },
  });
}

if (isMain(import.meta.url)) {
  const { path, missing } = await installH2load();
  if (missing !== undefined) exitMissing(missing);
  console.log(path);
}
