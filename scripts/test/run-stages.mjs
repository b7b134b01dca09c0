/** Runs the stages of `npm test` side by side on two cores, and repeats single test files and stages. */
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildDist } from '../build/build-dist.mjs';
import { endedChildrenS } from '../process/ended-children.mjs';
import { ROOT } from '../process/repository.mjs';
import { run } from '../process/run.mjs';
import { keepCheck, leftToCheck } from './passed-before.mjs';
import { showProgress } from './progress.mjs';
import { RESULTS_FOLDER, failuresFileOf } from './requirements.mjs';
import { lineOf, outcomeOf, stoppedAfter } from './result.mjs';
import { runJest, withAllTitles } from './run-jest.mjs';
import { limitOf } from './stages.mjs';
import { prepareTools } from './tools.mjs';

/** @typedef {import('./stages.mjs').Need} Need */
/** @typedef {import('./stages.mjs').Stage} Stage */
/** @typedef {import('./result.mjs').Outcome} Outcome */
/** @typedef {import('./result.mjs').StageResult} StageResult */
/** @typedef {import('./tools.mjs').Prepared} Prepared */
/** @typedef {import('./result.mjs').TestResult} TestResult */
/** @typedef {import('./passed-before.mjs').Files} Files */

/**
 * How the stages run.
 *
 * @typedef {object} Way
 * @property {boolean} isBrief Only failures are shown, beside the progress.
 * @property {boolean} isQuick A check may read only what has changed.
 * @property {Files | undefined} files Those of the repository. Without them each check reads all.
 * @property {ReadonlyMap<string, readonly TestResult[]>} passedTests By the name of the stage: the results of test files that are not repeated.
 */
/** @typedef {Way & { readonly isAlone: boolean, readonly tools: ReadonlyMap<Need, Prepared> }} Surroundings */

/** @typedef {Pick<import('./run-jest.mjs').JestOptions, 'show' | 'limitS' | 'isBrief'>} HowToRun */

/** A check that failed shows at most this many lines of its output. */
const LINES_MAX = 100;

/** The stages share them. */
const CORES = 2;

/** In CI a missing tool fails its stage. On a developer's machine the stage is skipped and listed. */
export const isCi = !['', '0', 'false'].includes(process.env.CI ?? '');

/**
 * Where jest writes its reports.
 *
 * @type {string | undefined}
 */
let resultsPath;

/**
 * How each stage of jest ran, for its second chance.
 *
 * @type {Map<Stage, Pick<import('./run-jest.mjs').JestOptions, 'node' | 'env'>>}
 */
const runtimes = new Map();

/** The processor time of all that ended before the last stage did, in seconds. */
let endedS = 0;

/**
 * Runs, whenever cores are free, the longest stage that needs no more of them, so that both are busy to the end; a stage that needs both comes
 * last. A stage with the need `build` waits for the build, which is the first, and is left out when the build fails.
 *
 * @param {readonly Stage[]} stages
 * @param {Way} way
 */
export async function runStages(stages, way) {
  const tools = await prepareTools(stages);
  endedS = endedChildrenS();
  /** @type {Map<Stage, StageResult>} */
  const results = new Map();
  let waiting = stages.toSorted((a, b) => rankOf(b) - rankOf(a));
  /** @type {Map<Stage, Promise<Stage>>} */
  const running = new Map();
  const stopShowing = showProgress({
    read: () => ({
      done: results.size,
      running: [...running.keys()].map(({ name }) => ({ name, file: progressFileOf(name) })),
      waiting: waiting.map(({ name }) => name),
    }),
  });
  while (waiting.length > 0 || running.size > 0) {
    const free = CORES - [...running.keys()].reduce((sum, stage) => sum + coresOf(stage), 0);
    const isBuilt = ![...waiting, ...running.keys()].some((stage) => stage.build === true);
    const next = waiting.find((stage) => coresOf(stage) <= free && (isBuilt || !needsBuild(stage)));
    if (next === undefined) {
      const ended = await Promise.race(running.values());
      running.delete(ended);
      if (ended.build === true && results.get(ended)?.failed !== 0) {
        console.log('The stages that need a build are left out.');
        waiting = waiting.filter((stage) => !needsBuild(stage));
      }
      continue;
    }
    waiting.splice(waiting.indexOf(next), 1);
    const isAlone = stages.length === 1;
    running.set(
      next,
      runTimed(next, { ...way, isAlone, tools }).then((result) => {
        results.set(next, result);
        return next;
      }),
    );
  }
  const load = stopShowing();
  return stages.flatMap((stage) => {
    const result = results.get(stage);
    return result === undefined ? [] : [{ ...result, load }];
  });
}

/** @param {string} stage */
function progressFileOf(stage) {
  return join(resultsFolder(), `${stage}.progress`);
}

/** @param {Stage} stage */
function rankOf(stage) {
  if (stage.build === true) return Infinity;
  return coresOf(stage) === CORES ? -stage.quietS : stage.quietS;
}

/** @param {Stage} stage */
function needsBuild({ needs = [] }) {
  return needs.includes('build');
}

/**
 * Runs one file again as its stage did, or without a file all of the stage, but alone.
 *
 * @param {{ stage: Stage, file: string | undefined, limitS: number }} options
 */
export function repeatAlone({ stage, file, limitS }) {
  /** @type {HowToRun} */
  const limit = { show: 'pipe', isBrief: true, limitS: Math.min(limitS, limitOf(stage)) };
  if (stage.tool !== undefined) return runTool([...stage.tool, ...(stage.checked ?? [])], { ...limit, env: stage.env });
  const part = file === undefined ? stage : { ...stage, folders: [], files: [file], workers: 1 };
  const { node, env } = runtimes.get(stage) ?? { node: process.execPath, env: {} };
  return runJest(part, { node, env, ...limit, ...placesOf(stage) });
}

/** @param {Stage} stage */
function coresOf({ cores = 1 }) {
  return cores;
}

/**
 * Prints the output of a stage at its end, or at once if it runs alone; in a brief run only that of one that failed.
 *
 * @param {Stage} stage
 * @param {Surroundings} surroundings
 * @returns {Promise<StageResult>}
 */
async function runTimed(stage, surroundings) {
  const { isAlone, isBrief } = surroundings;
  if (isAlone && !isBrief) console.log(`\n=== ${stage.name}`);
  const begin = Date.now();
  const { output = '', ...outcome } = await runStage(stage, surroundings);
  const result = { name: stage.name, stage, ...outcome, seconds: (Date.now() - begin) / 1000, processorS: processorTimeSince() };
  if (isBrief ? result.failed > 0 : !isAlone) console.log(`\n=== ${stage.name}\n${output}`);
  if (!isBrief || result.failed > 0) console.log(`--- ${lineOf(result)}`);
  return result;
}

/** What the stage that has just ended took: the stages that still run are not counted yet. */
function processorTimeSince() {
  const beforeS = endedS;
  endedS = endedChildrenS();
  return endedS - beforeS;
}

/**
 * @param {Stage} stage
 * @param {Surroundings} surroundings
 * @returns {Promise<Outcome>}
 */
async function runStage(stage, { isAlone, isBrief, isQuick, files, passedTests, tools }) {
  const show = isAlone && !isBrief ? 'inherit' : 'pipe';
  const prepared = (stage.needs ?? []).map((need) => tools.get(need) ?? {});
  const failure = prepared.find((tool) => tool.failure !== undefined)?.failure;
  if (failure !== undefined) return outcomeOf(failure);
  const missing = prepared.find((tool) => tool.missing !== undefined)?.missing;
  if (missing !== undefined) return isCi ? outcomeOf(missing) : { passed: 0, failed: 0, skipped: 1, note: `skipped: ${missing}` };
  if (stage.build === true) return outcomeOf(await buildDist());
  /** @type {HowToRun} */
  const how = { show, isBrief, limitS: limitOf(stage) };
  if (stage.tool !== undefined) return runCheck(stage, stage.tool, { ...how, isQuick, files });

  const node = prepared.find((tool) => tool.node !== undefined)?.node ?? process.execPath;
  /** @type {NodeJS.ProcessEnv} */
  const env = { ...stage.env };
  for (const tool of prepared) Object.assign(env, tool.env);
  runtimes.set(stage, { node, env });
  rmSync(failuresFileOf(stage.name), { force: true });
  const before = passedTests.get(stage.name) ?? [];
  const passedFiles = [...new Set(before.map(({ file }) => file))];
  const left = { ...stage, leftOut: [...(stage.leftOut ?? []), ...passedFiles] };
  return withAllTitles(stage, withEarlier(before, await runJest(left, { node, env, ...how, ...placesOf(stage) })));
}

/**
 * The outcome of a stage some of whose test files had passed before.
 *
 * @param {readonly TestResult[]} before
 * @param {Outcome} outcome
 * @returns {Outcome}
 */
function withEarlier(before, outcome) {
  const countOf = (/** @type {boolean} */ isSkipped) => before.filter(({ status }) => (status === 'pending') === isSkipped).length;
  const tests = [...before, ...(outcome.tests ?? [])];
  return { ...outcome, passed: outcome.passed + countOf(false), skipped: outcome.skipped + countOf(true), tests };
}

/** @param {Stage} stage */
function placesOf({ name }) {
  mkdirSync(RESULTS_FOLDER, { recursive: true });
  return { resultsFolder: resultsFolder(), failuresFile: failuresFileOf(name) };
}

/**
 * A check reads what its last pass does not show already.
 *
 * @param {Stage} stage
 * @param {readonly [string, ...string[]]} tool
 * @param {HowToRun & Pick<Way, 'isQuick' | 'files'>} how
 * @returns {Promise<Outcome>}
 */
async function runCheck({ name, checked = [], env }, tool, { isQuick, files, ...how }) {
  const left = files === undefined ? 'all' : leftToCheck(name, { files, needsWhole: !isQuick });
  if (left === 'nothing') return outcomeOf(undefined);
  const isWhole = left === 'all' || checked.length === 0;
  const changed = isWhole ? [] : left.filter((path) => isBelow(path, checked) && existsSync(join(ROOT, path)));
  const outcome =
    isWhole || changed.length > 0 ? await runTool([...tool, ...(isWhole ? checked : changed)], { ...how, env }) : outcomeOf(undefined);
  if (files !== undefined && outcome.failed === 0) keepCheck(name, { files, isWhole });
  return outcome;
}

/**
 * Whether a script or program is one of the paths, or in a folder of them.
 *
 * @param {string} file
 * @param {readonly string[]} paths
 */
function isBelow(file, paths) {
  return /\.(?:[cm]?[jt]s|tsx)$/.test(file) && paths.some((path) => file === path || file.startsWith(`${path}/`));
}

/**
 * @param {readonly string[]} command A script below node_modules/, and its arguments.
 * @param {HowToRun & { env: Stage['env'] | undefined }} how
 * @returns {Promise<Outcome>}
 */
async function runTool([script = '', ...args], { show, isBrief, limitS, env }) {
  const ended = await run(process.execPath, [join('node_modules', script), ...args], { timeoutS: limitS, env, output: show });
  const { code, timedOut, output } = ended;
  const lines = output.split('\n');
  const shown =
    isBrief && lines.length > LINES_MAX ? [...lines.slice(0, LINES_MAX), `… ${lines.length - LINES_MAX} lines left out …`] : lines;
  return { ...(timedOut ? stoppedAfter(limitS) : outcomeOf(code === 0 ? undefined : `exit code ${code}`)), output: shown.join('\n') };
}

/** Removed when this process ends. */
function resultsFolder() {
  if (resultsPath === undefined) {
    const folder = mkdtempSync(join(tmpdir(), 'weir-test-'));
    // An interrupt ends the process within a run, where no `finally` follows.
    process.once('exit', () => {
      rmSync(folder, { recursive: true, force: true });
    });
    resultsPath = folder;
  }
  return resultsPath;
}
