/** `npm run fuzz [-- --frames N] [--seed N] [--connection SEED]`: sends random frames to the lean transport and checks its answers. */
import { installNpmPackages } from './install/npm-packages.mjs';
import { exitWith } from './process/repository.mjs';
import { runTypeScript } from './process/run-typescript.mjs';

/** Ten million frames take minutes on a quiet machine. */
const TIMEOUT_S = 4 * 3600;

const failure = await installNpmPackages();
if (failure !== undefined) exitWith(failure);
await runTypeScript('test/fuzz/run.ts', { args: process.argv.slice(2), flags: ['--expose-gc'], timeoutS: TIMEOUT_S });
