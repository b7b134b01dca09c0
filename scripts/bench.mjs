/** `npm run bench [-- NAME --short …]`: installs what is missing and runs bench/NAME.ts, which prints its tables and publishes them. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { buildDist } from './build/build-dist.mjs';
import { installH2load } from './install/system/h2load.mjs';
import { installNpmPackages } from './install/npm-packages.mjs';
import { installRedis } from './install/system/redis.mjs';
import { ROOT, exitWith } from './process/repository.mjs';
import { runTypeScript } from './process/run-typescript.mjs';

/** @typedef {{ timeoutS: number, flags: readonly string[], needsBuild?: boolean, needsH2load?: boolean }} Benchmark */

/**
 * Bytes can be counted only while the garbage collector does not run. The young generation holds what a round allocates, and the
 * benchmark collects garbage between rounds (`--expose-gc`).
 *
 * @type {Benchmark}
 */
const USUAL = { timeoutS: 600, flags: ['--expose-gc', '--min-semi-space-size=256', '--max-semi-space-size=256'] };

/**
 * These measure a built Weir in separate processes.
 *
 * @type {Readonly<Record<string, Benchmark>>}
 */
const BUILT = {
  decisions: { timeoutS: 5400, flags: [], needsBuild: true, needsH2load: true },
  config: { timeoutS: 2400, flags: [], needsBuild: true },
  tracing: { timeoutS: 600, flags: [], needsBuild: true },
  library: { timeoutS: 600, flags: [], needsBuild: true },
  start: { timeoutS: 600, flags: [], needsBuild: true },
  consoles: { timeoutS: 600, flags: [], needsBuild: true },
  shards: { timeoutS: 1800, flags: [], needsBuild: true },
};

/**
 * These have a young generation as a server has it.
 *
 * @type {Readonly<Record<string, Benchmark>>}
 */
const AS_SERVED = { control: { timeoutS: 600, flags: ['--expose-gc', '--max-semi-space-size=4'] } };

const given = process.argv.slice(2);
const [name = 'decisions', ...args] = given[0]?.startsWith('-') === true ? ['decisions', ...given] : given;
if (!/^[a-z-]+$/.test(name) || !existsSync(join(ROOT, 'bench', `${name}.ts`)))
  exitWith(`There is no benchmark ${name}: npm run bench -- NAME runs the file bench/NAME.ts.`);
const { timeoutS, flags, needsBuild = false, needsH2load = false } = BUILT[name] ?? AS_SERVED[name] ?? USUAL;

const failure = (await installNpmPackages()) ?? (needsBuild ? await buildDist() : undefined);
if (failure !== undefined) exitWith(failure);
const env = {
  WEIR_REDIS_SERVER: await pathOf(installRedis),
  ...(needsH2load ? { WEIR_H2LOAD: await pathOf(installH2load) } : {}),
};
await runTypeScript(`bench/${name}.ts`, { args, flags, env, timeoutS });

/** @param {() => Promise<import('./install/fetch/tool.mjs').Tool>} install */
async function pathOf(install) {
  const { path, missing } = await install();
  if (missing !== undefined) exitWith(missing);
  return path;
}
