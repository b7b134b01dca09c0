// `npm run bench[:NAME] [-- --short …]`: installs what is missing and runs bench/NAME.ts, which prints its tables and publishes them.
import { build } from './build.mjs';
import { installH2load } from './install-h2load.mjs';
import { installNpm } from './install-npm.mjs';
import { installRedis } from './install-redis.mjs';
import { exitMissing, run } from './process.mjs';

/**
 * Room for all that a round allocates: bytes can be counted only while nothing is collected, so that a benchmark asks for
 * collections between rounds (`--expose-gc`) and wants none within.
 */
const USUAL = { timeoutS: 600, flags: ['--expose-gc', '--min-semi-space-size=256', '--max-semi-space-size=256'] };

/** What needs more than a redis-server; it measures other processes than its own. */
const DECISIONS = { timeoutS: 2400, flags: [], needsBuild: true, needsH2load: true };

const [name, ...args] = process.argv.slice(2);
if (name === undefined || !/^[a-z-]+$/.test(name)) exitMissing('Which benchmark? node scripts/bench.mjs NAME, for a file bench/NAME.ts');
const benchmark = name === 'decisions' ? DECISIONS : USUAL;

const env = {};
const missing = (await installNpm()) ?? (benchmark.needsBuild === true ? await build() : undefined);
if (missing !== undefined) exitMissing(missing);
await need(installRedis, 'WEIR_REDIS_SERVER');
if (benchmark.needsH2load === true) await need(installH2load, 'WEIR_H2LOAD');

const { timeoutS, flags } = benchmark;
const { code, timedOut } = await run(process.execPath, [...flags, '--require', './scripts/load-typescript.cjs', `bench/${name}.ts`, ...args], { timeoutS, env });
if (timedOut) exitMissing(`bench/${name}.ts did not end within ${timeoutS} s and was stopped.`);
process.exitCode = code;

async function need(install, variable) {
  const { path, missing: why } = await install();
  if (why !== undefined) exitMissing(why);
  env[variable] = path;
}
