// `npm run conformance -- --target HOST:PORT --config-dir DIR`: random requests at any rate limit service, and by what its answers differ from Weir's.
import { installNpm } from './install-npm.mjs';
import { exitMissing, run } from './process.mjs';

/** Ten thousand requests take half a minute; up to two more go by until the service has read its configuration, and three until an hour is over. */
const TIMEOUT_S = 1800;

const missing = await installNpm();
if (missing !== undefined) exitMissing(missing);

const args = ['--require', './scripts/load-typescript.cjs', 'test/conformance/target.ts', ...process.argv.slice(2)];
const { code, timedOut } = await run(process.execPath, args, { timeoutS: TIMEOUT_S });
if (timedOut) exitMissing(`test/conformance/target.ts did not end within ${TIMEOUT_S} s and was stopped.`);
process.exitCode = code;
