/** `npm run build`: installs the npm packages if necessary, checks types, and compiles src/ to dist/. `--no-types` leaves the check out, for `npm pack`. */
import { buildDist } from './build/build-dist.mjs';
import { installNpmPackages } from './install/npm-packages.mjs';
import { exitWith } from './process/repository.mjs';

const failure = (await installNpmPackages()) ?? (await buildDist({ checksTypes: !process.argv.includes('--no-types') }));
if (failure !== undefined) exitWith(failure);
