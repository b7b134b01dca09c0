/** `npm test [-- stage… --long]`: installs what is missing, runs the named stages (all by default) side by side, and counts their tests. */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { writeVersions } from './generate/versions.mjs';
import { installNpmPackages } from './install/npm-packages.mjs';
import { exitWith } from './process/repository.mjs';
import { cleanEnvironment } from './test/environment.mjs';
import { checkRequirements, describeRun, keepResults } from './test/requirements.mjs';
import { printSummary, sumOf } from './test/result.mjs';
import { isCi, repeatAlone, runStages } from './test/run-stages.mjs';
import { giveSecondChance } from './test/second-chance.mjs';
import { STAGES } from './test/stages.mjs';
import { planTools } from './test/tools.mjs';

/** Seeds are whole numbers below this. */
const SEEDS = 2 ** 31;
const BEGIN_MS = Date.now();

const args = process.argv.slice(2);
if (args[0] === '--list') {
  console.log(STAGES.map(({ name }) => name).join('\n'));
} else {
  await runTests({ names: args.filter((arg) => arg !== '--long'), isLong: args.includes('--long') });
}

/** @param {{ names: readonly string[], isLong: boolean }} options */
async function runTests({ names, isLong }) {
  const unknown = names.find((name) => STAGES.every((stage) => stage.name !== name));
  if (unknown !== undefined) exitWith(`Unknown stage ${unknown}. The stages are: ${STAGES.map(({ name }) => name).join(', ')}.`);
  cleanEnvironment(process.env);
  const isChosen = (/** @type {import('./test/stages.mjs').Stage} */ { name, isOnlyLong = false }) =>
    names.length === 0 ? isLong || !isOnlyLong : names.includes(name);
  const stages = STAGES.filter(isChosen).map((stage) => (isLong ? toLong(stage) : stage));
  for (const line of await planTools(stages)) console.log(line);
  const failure = await installNpmPackages();
  if (failure !== undefined) exitWith(failure);

  // Each random test derives its seed from this one (test/support/random/random.ts), also when its file runs a second time.
  process.env.WEIR_RUN_SEED ??= String(chooseRunSeed());
  console.log(`WEIR_RUN_SEED=${process.env.WEIR_RUN_SEED} (seed of the random tests)`);
  const run = describeRun({ form: isLong ? 'long' : 'short' });
  const ofStages = await giveSecondChance(await runStages(stages), { repeat: repeatAlone });
  const isComplete = names.length === 0;
  keepResults(ofStages, { run, isComplete });
  if (isLong)
    writeVersions(ofStages.flatMap(({ name, failed, tests }) => (failed > 0 || tests === undefined ? [] : [{ stage: name, run, tests }])));
  const results = isComplete ? [...ofStages, checkRequirements(ofStages, { run })] : ofStages;
  printSummary(results, { seconds: (Date.now() - BEGIN_MS) / 1000 });
  process.exitCode = sumOf(results, 'failed') === 0 ? 0 : 1;
}

/** In CI a hash of the sources, so the same sources run the same cases. Elsewhere each run tries other cases. */
function chooseRunSeed() {
  if (isCi) {
    const { status, stdout } = spawnSync('git', ['rev-parse', 'HEAD:lua', 'HEAD:src', 'HEAD:test'], { encoding: 'utf8' });
    if (status === 0) return createHash('sha256').update(stdout).digest().readUInt32BE() % SEEDS;
  }
  return Math.floor(Math.random() * SEEDS);
}

/**
 * The long form of a stage runs all cases of each test, and has more time where it needs that.
 *
 * @param {import('./test/stages.mjs').Stage} stage
 * @returns {import('./test/stages.mjs').Stage}
 */
function toLong({ long = {}, ...stage }) {
  return { ...stage, onlyLong: [], ...long, env: { WEIR_TEST_FORM: 'long', ...stage.env, ...long.env } };
}
