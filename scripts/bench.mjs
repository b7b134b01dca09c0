// `npm run bench:NAME [-- --short]`: installs what is missing and runs bench/NAME.ts, which prints its table and publishes it.
import { installNpm } from './install-npm.mjs';
import { installRedis } from './install-redis.mjs';
import { exitMissing, run } from './process.mjs';

const TIMEOUT_S = 600;

/**
 * Room for all that a round allocates: bytes can be counted only while nothing is collected, so the benchmarks ask for
 * collections between rounds (`--expose-gc`) and want none within.
 */
const NODE_FLAGS = ['--expose-gc', '--min-semi-space-size=256', '--max-semi-space-size=256'];

const [name, ...args] = process.argv.slice(2);
if (name === undefined || !/^[a-z-]+$/.test(name)) exitMissing('Which benchmark? node scripts/bench.mjs NAME, for a file bench/NAME.ts');

const missing = await installNpm();
if (missing !== undefined) exitMissing(missing);
const redis = await installRedis();
if (redis.missing !== undefined) exitMissing(redis.missing);

const { code, timedOut } = await run(process.execPath, [...NODE_FLAGS, '--require', './scripts/load-typescript.cjs', `bench/${name}.ts`, ...args], {
  timeoutS: TIMEOUT_S,
  env: { WEIR_REDIS_SERVER: redis.path },
});
if (timedOut) exitMissing(`bench/${name}.ts did not end within ${TIMEOUT_S} s and was stopped.`);
process.exitCode = code;
