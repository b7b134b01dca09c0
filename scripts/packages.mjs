/** `npm run packages [-- FOLDER]`: builds, and packs the server and the library packages as npm publishes them, into FOLDER (default dist/packages). */
import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { buildDist } from './build/build-dist.mjs';
import { buildPackages } from './build/build-packages.mjs';
import { LIBRARY_PACKAGES } from './build/library-packages.mjs';
import { installNpmPackages } from './install/npm-packages.mjs';
import { ROOT, exitWith } from './process/repository.mjs';
import { failureOf, run } from './process/run.mjs';

const PACK_TIMEOUT_S = 120;

const [given = join(ROOT, 'dist', 'packages')] = process.argv.slice(2);
const output = resolve(given);
mkdirSync(output, { recursive: true });
// `npm run build` and `npm test` check the types.
const failure =
  (await installNpmPackages()) ?? (await buildDist({ checksTypes: false })) ?? (await buildPackages({ output })) ?? (await pack());
if (failure !== undefined) exitWith(failure);

/** Resolves to what failed, or to undefined. dist/ is built, so the script `prepack` has nothing to do. */
async function pack() {
  const folders = [ROOT, ...Object.keys(LIBRARY_PACKAGES).map((name) => join(output, name))];
  const ended = await run('npm', ['pack', '--ignore-scripts', '--loglevel=error', '--pack-destination', output, ...folders], {
    timeoutS: PACK_TIMEOUT_S,
  });
  return ended.code === 0 ? undefined : failureOf('npm pack', ended, PACK_TIMEOUT_S);
}
