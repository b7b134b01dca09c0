/** Runs the stages of `npm test` side by side on two cores, and repeats single test files and stages. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildDist } from '../build/build-dist.mjs';
import { endedChildrenS } from '../process/ended-children.mjs';
import { run } from '../process/run.mjs';
import { reportProgress } from './progress.mjs';
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
/** @typedef {{ readonly isAlone: boolean, readonly tools: ReadonlyMap<Need, Prepared> }} Surroundings */

/** @typedef {Pick<import('./run-jest.mjs').JestOptions, 'show' | 'limitS'>} HowToRun */

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
 */
export async function runStages(stages) {
  const tools = await prepareTools(stages);
  endedS = endedChildrenS();
  /** @type {Map<Stage, StageResult>} */
  const results = new Map();
  let waiting = stages.toSorted((a, b) => rankOf(b) - rankOf(a));
  /** @type {Map<Stage, Promise<Stage>>} */
  const running = new Map();
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
    const isAlone = coresOf(next) === CORES || stages.length === 1;
    if (!isAlone) console.log(`... ${next.name} begins`);
    running.set(
      next,
      runTimed(next, { isAlone, tools }).then((result) => {
        results.set(next, result);
        return next;
      }),
    );
  }
  return stages.flatMap((stage) => results.get(stage) ?? []);
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
  const limit = { show: 'pipe', limitS: Math.min(limitS, limitOf(stage)) };
  if (stage.tool !== undefined) return runTool(stage.tool, { ...limit, env: stage.env });
  const part = file === undefined ? stage : { ...stage, folders: [], files: [file], workers: 1 };
  const { node, env } = runtimes.get(stage) ?? { node: process.execPath, env: {} };
  return runJest(part, { node, env, ...limit, ...placesOf(stage) });
}

/** @param {Stage} stage */
function coresOf({ cores = 1 }) {
  return cores;
}

/**
 * Prints the output of a stage: at once if it runs alone, otherwise at its end.
 *
 * @param {Stage} stage
 * @param {Surroundings} surroundings
 * @returns {Promise<StageResult>}
 */
async function runTimed(stage, { isAlone, tools }) {
  if (isAlone) console.log(`\n=== ${stage.name}`);
  const begin = Date.now();
  const stopReporting = reportProgress({ name: stage.name, file: join(resultsFolder(), `${stage.name}.progress`) });
  let load = 0;
  const { output = '', ...outcome } = await runStage(stage, { isAlone, tools }).finally(() => {
    load = stopReporting();
  });
  const result = { name: stage.name, stage, ...outcome, seconds: (Date.now() - begin) / 1000, processorS: processorTimeSince(), load };
  console.log(isAlone ? `--- ${lineOf(result)}` : `\n=== ${stage.name}\n${output}--- ${lineOf(result)}`);
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
async function runStage(stage, { isAlone, tools }) {
  const show = isAlone ? 'inherit' : 'pipe';
  const prepared = (stage.needs ?? []).map((need) => tools.get(need) ?? {});
  const failure = prepared.find((tool) => tool.failure !== undefined)?.failure;
  if (failure !== undefined) return outcomeOf(failure);
  const missing = prepared.find((tool) => tool.missing !== undefined)?.missing;
  if (missing !== undefined) return isCi ? outcomeOf(missing) : { passed: 0, failed: 0, skipped: 1, note: `skipped: ${missing}` };
  if (stage.build === true) return outcomeOf(await buildDist());
  /** @type {HowToRun} */
  const how = { show, limitS: limitOf(stage) };
  if (stage.tool !== undefined) return runTool(stage.tool, { ...how, env: stage.env });

  const node = prepared.find((tool) => tool.node !== undefined)?.node ?? process.execPath;
  /** @type {NodeJS.ProcessEnv} */
  const env = { ...stage.env };
  for (const tool of prepared) Object.assign(env, tool.env);
  runtimes.set(stage, { node, env });
  rmSync(failuresFileOf(stage.name), { force: true });
  return withAllTitles(stage, await runJest(stage, { node, env, ...how, ...placesOf(stage) }));
}

/** @param {Stage} stage */
function placesOf({ name }) {
  mkdirSync(RESULTS_FOLDER, { recursive: true });
  return { resultsFolder: resultsFolder(), failuresFile: failuresFileOf(name) };
}

/**
 * @param {readonly [string, ...string[]]} tool
 * @param {HowToRun & { env: Stage['env'] | undefined }} how
 * @returns {Promise<Outcome>}
 */
async function runTool([script, ...args], { show, limitS, env }) {
  const ended = await run(process.execPath, [join('node_modules', script), ...args], { timeoutS: limitS, env, output: show });
  const { code, timedOut, output } = ended;
  return { ...(timedOut ? stoppedAfter(limitS) : outcomeOf(code === 0 ? undefined : `exit code ${code}`)), output };
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
