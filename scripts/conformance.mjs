/** `npm run conformance -- --target HOST:PORT --config-dir DIR`: sends random requests to a rate limit service and compares its answers with Weir's. */
import { installNpmPackages } from './install/npm-packages.mjs';
import { exitWith } from './process/repository.mjs';
import { runTypeScript } from './process/run-typescript.mjs';

/**
 * 10,000 requests take half a minute. Before them, the service may take two minutes to read its configuration, and the run may wait
 * three minutes for the next hour.
 */
const TIMEOUT_S = 1800;

const failure = await installNpmPackages();
if (failure !== undefined) exitWith(failure);
await runTypeScript('test/conformance/service/target.ts', { args: process.argv.slice(2), timeoutS: TIMEOUT_S });
