// `npm run fuzz [-- --frames N] [--seed N] [--connection SEED]`: sends the lean transport anything, and holds its answers against the rules.
import { installNpm } from './install-npm.mjs';
import { exitMissing, run } from './process.mjs';

/** Ten million frames take some minutes on a quiet machine. */
const TIMEOUT_S = 4 * 3600;

const missing = await installNpm();
if (missing !== undefined) exitMissing(missing);

const args = ['--expose-gc', '--require', './scripts/load-typescript.cjs', 'test/fuzz/run.ts', ...process.argv.slice(2)];
const { code, timedOut } = await run(process.execPath, args, { timeoutS: TIMEOUT_S });
if (timedOut) exitMissing(`test/fuzz/run.ts did not end within ${TIMEOUT_S} s and was stopped.`);
process.exitCode = code;
