/**
 * `npm test`: installs what is missing, and runs what finds most for its time (quick-run.mjs). `npm run test:all` (`--all`) runs all stages,
 * `npm run test:long` (`--long`) with all cases of each test, `npm test -- STAGE… [--long]` the named stages.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { writeVersions } from './generate/versions.mjs';
import { installNpmPackages } from './install/npm-packages.mjs';
import { exitWith } from './process/repository.mjs';
import { cleanEnvironment } from './test/environment.mjs';
import { forgetChecks, readFiles, treeOf } from './test/passed-before.mjs';
import { quickStagesOf } from './test/quick-run.mjs';
import { checkRequirements, describeRun, forgetResults, keepResults, readPassedTests } from './test/requirements.mjs';
import { printSummary, sumOf } from './test/result.mjs';
import { isCi, repeatAlone, runStages } from './test/run-stages.mjs';
import { giveSecondChance } from './test/second-chance.mjs';
import { STAGES } from './test/stages.mjs';
import { planTools } from './test/tools.mjs';

/** @typedef {import('./test/stages.mjs').Stage} Stage */
/** @typedef {import('./test/result.mjs').TestResult} TestResult */

/** Seeds are whole numbers below this. */
const SEEDS = 2 ** 31;
const BEGIN_MS = Date.now();

const OPTIONS = ['--all', '--long'];

const args = process.argv.slice(2);
if (args[0] === '--list') {
  console.log(STAGES.map(({ name }) => name).join('\n'));
} else {
  await runTests({ names: args.filter((arg) => !OPTIONS.includes(arg)), isAll: args.includes('--all'), isLong: args.includes('--long') });
}

/** @param {{ names: readonly string[], isAll: boolean, isLong: boolean }} options */
async function runTests({ names, isAll, isLong }) {
  const unknown = names.find((name) => STAGES.every((stage) => stage.name !== name));
  if (unknown !== undefined) exitWith(`Unknown stage ${unknown}. The stages are: ${STAGES.map(({ name }) => name).join(', ')}.`);
  cleanEnvironment(process.env);
  const isQuick = names.length === 0 && !isAll && !isLong;
  const isComplete = names.length === 0 && !isQuick;
  const stages = chooseStages({ names, isQuick, isLong });
  for (const line of await planTools(stages)) console.log(line);
  const failure = await installNpmPackages();
  if (failure !== undefined) exitWith(failure);

  // Each random test derives its seed from this one (test/support/random/random.ts), also when its file runs a second time.
  process.env.WEIR_RUN_SEED ??= String(chooseRunSeed());
  const isBrief = names.length === 0;
  if (!isBrief) console.log(seedLine());
  if (isCi && isQuick) {
    forgetChecks();
    forgetResults();
  }
  const files = readFiles();
  const run = describeRun({ form: isLong ? 'long' : 'short', tree: files && treeOf(files) });
  /** @type {ReadonlyMap<string, readonly TestResult[]>} */
  const passedTests = isComplete ? readPassedTests(run) : new Map();
  const way = { isBrief, isQuick, files, passedTests };
  const ofStages = await giveSecondChance(await runStages(stages, way), { repeat: repeatAlone });
  keepResults(ofStages, { run, isComplete });
  if (isLong)
    writeVersions(ofStages.flatMap(({ name, failed, tests }) => (failed > 0 || tests === undefined ? [] : [{ stage: name, run, tests }])));
  const results = isComplete ? [...ofStages, checkRequirements(ofStages, { run })] : ofStages;
  printSummary(results, {
    seconds: (Date.now() - BEGIN_MS) / 1000,
    showsSlowest: !isBrief,
    notes: isBrief ? [...notRepeated(passedTests), ...notRun({ isQuick, isLong }), seedLine()] : [],
  });
  process.exitCode = sumOf(results, 'failed') === 0 ? 0 : 1;
}

/**
 * @param {{ names: readonly string[], isQuick: boolean, isLong: boolean }} options
 * @returns {readonly Stage[]}
 */
function chooseStages({ names, isQuick, isLong }) {
  if (isQuick) return quickStagesOf(STAGES);
  const isChosen = (/** @type {Stage} */ { name, isOnlyLong = false }) =>
    names.length === 0 ? isLong || !isOnlyLong : names.includes(name);
  return STAGES.filter(isChosen).map((stage) => (isLong ? toLong(stage) : stage));
}

/** @param {ReadonlyMap<string, readonly TestResult[]>} passedTests */
function notRepeated(passedTests) {
  const count = [...passedTests.values()].reduce((sum, tests) => sum + tests.length, 0);
  return count === 0 ? [] : [`not repeated: ${count} of these tests, which passed on the same files within the hour`];
}

/** @param {{ isQuick: boolean, isLong: boolean }} run */
function notRun({ isQuick, isLong }) {
  if (isLong) return [];
  const rest = isQuick ? [`not run: the other test files, and all of ${otherStages()}: \`npm run test:all\``] : [];
  return [...rest, 'not run: most cases of the random tests, and what takes longest: `npm run test:long`'];
}

/** The stages that only `npm run test:all` runs. */
function otherStages() {
  const quick = quickStagesOf(STAGES).map(({ name }) => name);
  return STAGES.filter(({ name, isOnlyLong = false }) => !isOnlyLong && !quick.includes(name))
    .map(({ name }) => name)
    .join(', ');
}

function seedLine() {
  return `WEIR_RUN_SEED=${process.env.WEIR_RUN_SEED ?? ''} (seed of the random tests)`;
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
